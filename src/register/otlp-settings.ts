import { choice, milliseconds, text, wrong, type Environment } from './environment-variable.ts';

/** How OTLP is spoken: what `OTEL_EXPORTER_OTLP_PROTOCOL` may be. */
export type OtlpProtocol = 'http/protobuf' | 'http/json' | 'grpc';

/** What goes over OTLP, as the variables name it. */
export type OtlpSignal = 'METRICS' | 'TRACES';

/**
 * The protocol that the variables ask for, by default http/protobuf. The exporter reads the other variables itself:
 * here they are only checked, since it would take a default in the place of a bad value. Headers are left to it
 * altogether, as they may hold secrets, which must not get into an error message.
 *
 * @throws StartUpError for a bad value.
 */
export function otlpProtocol(env: Environment, signal: OtlpSignal): OtlpProtocol {
  const own = `OTEL_EXPORTER_OTLP_${signal}_`;
  const protocols: readonly OtlpProtocol[] = ['http/protobuf', 'http/json', 'grpc'];
  const protocol =
    choice(env, `${own}PROTOCOL`, protocols) ??
    choice(env, 'OTEL_EXPORTER_OTLP_PROTOCOL', protocols) ??
    'http/protobuf';
  for (const prefix of [own, 'OTEL_EXPORTER_OTLP_']) {
    if (protocol !== 'grpc') checkUrl(env, `${prefix}ENDPOINT`);
    checkCompression(env, `${prefix}COMPRESSION`);
    milliseconds(env, `${prefix}TIMEOUT`);
  }
  choice(env, `${own}TEMPORALITY_PREFERENCE`, ['cumulative', 'delta', 'lowmemory']);
  return protocol;
}

function checkUrl(env: Environment, name: string): void {
  const value = text(env, name);
  const valid = value === undefined || (/^https?:/i.test(value) && URL.canParse(value));
  if (!valid) throw wrong(name, 'a URL that starts with http:// or https://', value);
}

/** Other than {@link choice}, the exporter takes small letters only. */
function checkCompression(env: Environment, name: string): void {
  const value = text(env, name);
  if (value !== undefined && value !== 'gzip' && value !== 'none') throw wrong(name, 'gzip, none', value);
}
