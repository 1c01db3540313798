/**
 * Sets everything up from OpenTelemetry's environment variables, before the application starts and without a line of
 * code in it:
 *
 * ```sh
 * OTEL_METRICS_EXPORTER=prometheus node --import opentelemetry-instrumentation-vllm/register app.js
 * ```
 *
 * `--require` does the same. The application makes its `VllmInstrumentation` and uses it; that one finds the global
 * providers. If a MeterProvider is registered already, that is said in one line and nothing is set up.
 *
 * | variable | values | default |
 * |---|---|---|
 * | `OTEL_SDK_DISABLED` | `true`: sets nothing up | `false` |
 * | `OTEL_METRICS_EXPORTER` | `otlp`, `prometheus`, `console`, several with commas between, or `none` | `otlp`, as specified |
 * | `OTEL_EXPORTER_PROMETHEUS_HOST`, `_PORT` | where to be scraped | `localhost`, `9464` |
 * | `OTEL_METRIC_EXPORT_INTERVAL`, `_TIMEOUT` | milliseconds; a timeout above the interval is cut to it | `60000`, `30000` |
 * | `OTEL_TRACES_EXPORTER` | `otlp`, `console`, both with a comma between, or `none` | `none`: spans are asked for by name, other than specified, so that a process meant to be scraped does not look for a collector |
 * | `OTEL_TRACES_SAMPLER` | `always_on`, `always_off`, `traceidratio`, or one of these with `parentbased_` before | `parentbased_always_on` |
 * | `OTEL_TRACES_SAMPLER_ARG` | the share of traces for `traceidratio`, 0 to 1 | `1` |
 * | `OTEL_EXPORTER_OTLP_PROTOCOL` | `http/protobuf`, `http/json`, `grpc` | `http/protobuf` |
 * | `OTEL_EXPORTER_OTLP_…` | the other ones, `ENDPOINT` and `HEADERS` for instance, are read by the exporter | as specified |
 * | `OTEL_EXPORTER_OTLP_METRICS_…`, `_TRACES_…` | the same for one signal; `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE` is `cumulative`, `delta`, or `lowmemory` | as specified |
 * | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | who this is; `service.instance.id` is made up where it is not given | `unknown_service:node` |
 * | `OTEL_PROPAGATORS` | `tracecontext`, `baggage`, both with a comma between, or `none` | `tracecontext,baggage` |
 * | `OTEL_LOG_LEVEL` | `none`, `error`, `warn`, `info`, `debug`, `verbose`, `all`; written to stderr | `warn` |
 *
 * A bad value stops the process with exit code 1 and one line on stderr, and so does a package that is missing:
 * `@opentelemetry/sdk-metrics`, `resources`, `core` and `context-async-hooks` are needed always, the exporters and
 * `sdk-trace` where they are asked for. A Prometheus port that is taken is said, and the service goes on.
 *
 * At the end of the process, on SIGTERM and SIGINT or when nothing is left to do, requests in flight are recorded as
 * aborts and everything is sent, within 5 seconds; then the process ends as it would have. Where the application
 * handles the signal itself, what there is at the signal is sent at once, and the rest when the process runs empty; an
 * application that calls `process.exit()` calls {@link shutdown} before.
 *
 * @module
 */
import { load, requirePackages } from './register/packages.ts';
import { readEnvironment } from './register/read-environment.ts';
import { complain } from './register/standard-error.ts';
import type * as Start from './register/start.ts';
import { StartUpError } from './register/start-up-error.ts';
import type { Telemetry } from './register/telemetry.ts';

const telemetry = register();

/**
 * Ends the requests in flight as aborts, sends everything and shuts the exporters down, in at most 5 seconds. For
 * applications that end in `process.exit()`; at any other end of the process it happens by itself.
 *
 * Never rejects. The second call waits for the first.
 */
export async function shutdown(): Promise<void> {
  await telemetry?.shutdown();
}

function register(): Telemetry | undefined {
  try {
    const configuration = readEnvironment(process.env);
    if (configuration === undefined) return undefined;
    requirePackages(configuration);
    const { start } = load('./start.js') as typeof Start;
    return start(configuration);
  } catch (error) {
    if (!(error instanceof StartUpError)) throw error;
    complain(error.message);
    return process.exit(1);
  }
}
