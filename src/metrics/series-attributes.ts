/** Attributes of a series: frozen, since the SDK keeps them by reference. */
export type SeriesAttributes = Readonly<Record<string, string>>;
