import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Panel as GrafanaPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import {
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  HeatmapColorScale,
  PanelBuilder as HeatmapBuilder,
  YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatesBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TextBuilder, TextMode } from '@grafana/grafana-foundation-sdk/text';
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import {
  describePanel,
  type HeatmapPanel,
  type LinesPanel,
  type Panel,
  type Query,
  type StatesPanel,
  type TablePanel,
} from './panel.ts';
import { DATASOURCE } from './variables.ts';

/** The letter that names a panel's query of this position. */
export function refIdAt(position: number): string {
  return 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.charAt(position);
}

/** Grafana's panel of one of ours, placed in the grid by the dashboard. */
export function buildPanel(panel: Panel, id: number): Builder<GrafanaPanel> {
  return builderOf(panel)
    .id(id)
    .title(panel.title)
    .description(describePanel(panel))
    .span(panel.width)
    .height(panel.height);
}

function builderOf(panel: Panel): LinesBuilder | HeatmapBuilder | StatesBuilder | TableBuilder | TextBuilder {
  if (panel.kind === 'lines') return lines(panel);
  if (panel.kind === 'heatmap') return heatmap(panel);
  if (panel.kind === 'states') return states(panel);
  if (panel.kind === 'table') return table(panel);
  return new TextBuilder().mode(TextMode.Markdown).content(panel.content);
}

function lines(panel: LinesPanel): LinesBuilder {
  const builder = new LinesBuilder()
    .datasource(DATASOURCE)
    .targets(panel.queries.map((query, position) => overTime(query, position)))
    .unit(panel.unit)
    .min(0)
    .drawStyle(GraphDrawStyle.Line)
    .lineWidth(1)
    .fillOpacity(panel.stacked ? 30 : 0)
    .showPoints(VisibilityMode.Auto)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
  if (panel.stacked) {
    builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A'));
  }
  if (panel.max !== undefined) builder.max(panel.max);
  if (panel.badFrom !== undefined) {
    builder
      .thresholds(
        new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
          { value: null, color: 'green' },
          { value: panel.badFrom, color: 'red' },
        ]),
      )
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
  }
  return builder;
}

function heatmap(panel: HeatmapPanel): HeatmapBuilder {
  return (
    new HeatmapBuilder()
      .datasource(DATASOURCE)
      .targets(
        panel.queries.map((query, position) => overTime(query, position).format(PromQueryFormat.Heatmap)),
      )
      // Nearly all requests are in the lowest bucket: a linear scale would show that one alone.
      .color(
        new HeatmapColorOptionsBuilder()
          .mode(HeatmapColorMode.Scheme)
          .scheme('Oranges')
          .scale(HeatmapColorScale.Exponential)
          .exponent(0.3)
          .steps(64),
      )
      .yAxis(new YAxisConfigBuilder().axisLabel(panel.axis))
  );
}

function states(panel: StatesPanel): StatesBuilder {
  const options = Object.fromEntries(
    panel.states.map(({ text, color }, value) => [String(value), { text, color, index: value }]),
  );
  return new StatesBuilder()
    .datasource(DATASOURCE)
    .targets(panel.queries.map((query, position) => overTime(query, position)))
    .mappings([{ type: MappingType.ValueToText, options }])
    .showValue(VisibilityMode.Auto);
}

function table(panel: TablePanel): TableBuilder {
  // With several queries each brings a column `Value #A`, with one it is `Value`.
  const column = (position: number): string =>
    panel.queries.length === 1 ? 'Value' : `Value #${refIdAt(position)}`;
  const builder = new TableBuilder()
    .datasource(DATASOURCE)
    .targets(
      panel.queries.map((query, position) => target(query, position).instant().format(PromQueryFormat.Table)),
    )
    .filterable(true)
    .transformations([
      { id: 'merge', options: {} },
      {
        id: 'organize',
        options: {
          excludeByName: Object.fromEntries(panel.hidden.map((name) => [name, true])),
          renameByName: Object.fromEntries(
            panel.queries.map(({ legend }, position) => [column(position), legend]),
          ),
        },
      },
    ]);
  for (const [name, unit] of Object.entries(panel.units ?? {})) {
    builder.overrideByName(name, [{ id: 'unit', value: unit }]);
  }
  return builder;
}

function overTime(query: Query, position: number): DataqueryBuilder {
  return target(query, position)
    .range()
    .exemplar(query.exemplars === true);
}

function target({ expr, legend }: Query, position: number): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(refIdAt(position))
    .expr(expr)
    .legendFormat(legend);
}
