import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';

/** A variable of the dashboard that selects series by a label. */
interface Filter {
  readonly variable: string;
  readonly label: string;
  /** What the dashboard calls it. */
  readonly title: string;
  /** True for a label that the store gives to every series, not the metric. */
  readonly ofTarget: boolean;
  /**
   * What "All" stands for; where left out, for every value that there is. `.*` also takes series without the label: over
   * OTLP, only services with a `service.instance.id` have an `instance`.
   */
  readonly allValue?: string;
}

/** The variables that filter, each offering what the ones before it leave. */
export const FILTERS: readonly Filter[] = [
  // Every value and not `.*`: `up` is to be that of the jobs which have engines.
  { variable: 'job', label: 'job', title: 'Job', ofTarget: true },
  { variable: 'instance', label: 'instance', title: 'Instance', ofTarget: true, allValue: '.*' },
  { variable: 'model', label: 'model_name', title: 'Model', ofTarget: false, allValue: '.*' },
  { variable: 'engine', label: 'engine', title: 'Engine', ofTarget: false, allValue: '.*' },
];

/** The data source that every panel asks. */
export const DATASOURCE: { readonly type: string; readonly uid: string } = {
  type: 'prometheus',
  uid: '${datasource}',
};

/** The variable for the data source. */
export function datasourceVariable(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

/** The variables that filter. */
export function filterVariables(): QueryVariableBuilder[] {
  return FILTERS.map(({ variable, label, title, allValue }, position) => {
    const earlier = FILTERS.slice(0, position).map((filter) => `${filter.label}=~"$${filter.variable}"`);
    // A gauge that every engine has from the start.
    const series = `vllm:num_requests_running${position === 0 ? '' : `{${earlier.join(', ')}}`}`;
    const query = `label_values(${series}, ${label})`;
    const builder = new QueryVariableBuilder(variable)
      .label(title)
      .datasource(DATASOURCE)
      .query({ qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
      .definition(query)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      .sort(VariableSort.NaturalAsc)
      .multi(true)
      .includeAll(true)
      .current({ selected: true, text: ['All'], value: ['$__all'] });
    return allValue === undefined ? builder : builder.allValue(allValue);
  });
}
