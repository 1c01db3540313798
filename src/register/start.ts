import { randomUUID } from 'node:crypto';
import {
  context,
  createNoopMeter,
  diag,
  DiagLogLevel,
  metrics,
  propagation,
  trace,
  type DiagLogger,
  type TextMapPropagator,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { SCOPE_NAME } from '../metrics/scope.ts';
import { contextPropagates } from '../propagation-check.ts';
import { shutDownAtProcessEnd } from './process-end.ts';
import type { LogLevel, PropagatorName, RegisterConfiguration } from './read-environment.ts';
import { complain, writeLine } from './standard-error.ts';
import { startMetrics } from './start-metrics.ts';
import { startTraces } from './start-traces.ts';
import { Telemetry } from './telemetry.ts';

/**
 * Starts what the configuration asks for and registers it with the OpenTelemetry API, as far as nothing is registered
 * there.
 *
 * @returns Undefined where a MeterProvider is registered already: nothing has been started then.
 */
export function start(configuration: RegisterConfiguration): Telemetry | undefined {
  if (metrics.getMeterProvider().getMeter(SCOPE_NAME) !== createNoopMeter()) {
    complain('a MeterProvider is registered already, so nothing is set up; give vllmViews() to that one');
    return undefined;
  }
  setLogLevel(configuration.logLevel);
  if (!contextPropagates()) context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  setPropagators(configuration.propagators);
  const resource = createResource(configuration.resourceAttributes);
  const startedMetrics = startMetrics(configuration.metrics, resource);
  const traces = startTraces(configuration.traces, resource);
  if (startedMetrics !== undefined && !metrics.setGlobalMeterProvider(startedMetrics.provider)) {
    complain(
      'another version of @opentelemetry/api is in use already, so no metrics are recorded; install one only',
    );
  }
  if (traces !== undefined) trace.setGlobalTracerProvider(traces);
  const telemetry = new Telemetry(startedMetrics, traces);
  shutDownAtProcessEnd(telemetry);
  return telemetry;
}

/** All to stderr: the console logger of the API writes to stdout from the level info on. */
const logger: DiagLogger = {
  error: writeLine,
  warn: writeLine,
  info: writeLine,
  debug: writeLine,
  verbose: writeLine,
};

function setLogLevel(level: LogLevel): void {
  const name = level.toUpperCase() as Uppercase<LogLevel>;
  diag.setLogger(logger, { logLevel: DiagLogLevel[name], suppressOverrideMessage: true });
}

function setPropagators(names: ReadonlySet<PropagatorName>): void {
  if (names.size === 0) return;
  const propagators: TextMapPropagator[] = [];
  if (names.has('tracecontext')) propagators.push(new W3CTraceContextPropagator());
  if (names.has('baggage')) propagators.push(new W3CBaggagePropagator());
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
}

/** Replicas that name no instance of their own must not write to the same series at a backend. */
function createResource(attributes: Readonly<Record<string, string>>): Resource {
  const instance = { 'service.instance.id': randomUUID() };
  return defaultResource().merge(resourceFromAttributes({ ...instance, ...attributes }));
}
