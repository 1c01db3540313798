import { diag, DiagLogLevel, type Meter } from '@opentelemetry/api';
import {
  AggregationType,
  InMemoryMetricExporter,
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type AggregationOption,
  type PeriodicExportingMetricReaderOptions,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfirmingMetricReader } from '../../src/otlp/index.ts';
import { COMBINATIONS, exporterTo, type Temporality } from './exporters.ts';
import { accept, closedAddress, startReceiver, type Answer, type Receiver } from './receiver.ts';

interface Pipeline {
  readonly reader: ConfirmingMetricReader;
  readonly provider: MeterProvider;
  readonly meter: Meter;
}

/** Not shut down at the end: that would wait for the exporter to give up. */
function startPipeline(
  exporter: PushMetricExporter,
  options: Omit<PeriodicExportingMetricReaderOptions, 'exporter'> = {},
): Pipeline {
  const reader = new ConfirmingMetricReader({ exporter, ...options });
  const provider = new MeterProvider({ readers: [reader] });
  return { reader, provider, meter: provider.getMeter('test') };
}

const refuse =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end();

/** A receiver that gives its first answer when it is told to, and accepts everything else. */
async function startHesitant(answer: Answer): Promise<{ receiver: Receiver; answerFirst: () => void }> {
  let answerFirst = (): void => {};
  const receiver = await startReceiver((response, index) => {
    if (index === 0) answerFirst = () => answer(response, index);
    else response.end();
  });
  return { receiver, answerFirst: () => answerFirst() };
}

describe.each(COMBINATIONS)('a flush over $protocol, $temporality', (combination) => {
  function startExporting(url: string, timeoutMillis?: number): Pipeline {
    const pipeline = startPipeline(
      exporterTo(url, timeoutMillis === undefined ? combination : { ...combination, timeoutMillis }),
    );
    pipeline.meter.createCounter('requests').add(1, { model: 'a' });
    pipeline.meter.createCounter('requests').add(1, { model: 'b' });
    pipeline.meter.createHistogram('preemptions').record(3);
    return pipeline;
  }

  it('is delivered when the receiver has accepted it, and says how many data points arrived', async () => {
    const receiver = await startReceiver();
    const { reader } = startExporting(receiver.url);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 3 });
    expect(receiver.arrivals).toHaveLength(1);
  });

  it('is not when the receiver refuses, and says what the exporter made of it', async () => {
    const receiver = await startReceiver(refuse(400));
    const { reader } = startExporting(receiver.url);
    expect(await reader.flush()).toEqual({
      delivered: false,
      reason: 'failed',
      error: expect.objectContaining({ message: 'Bad Request', code: 400 }),
    });
  });

  it('is when a receiver that was overloaded takes it at the second attempt', async () => {
    const overloaded = refuse(503, { 'retry-after': new Date(0).toUTCString() });
    const receiver = await startReceiver((response, index) =>
      (index === 0 ? overloaded : accept)(response, index),
    );
    const { reader } = startExporting(receiver.url);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 3 });
    expect(receiver.arrivals).toHaveLength(2);
  });

  it('is not when the receiver stays overloaded for as long as the exporter tries', async () => {
    const receiver = await startReceiver(refuse(503));
    const { reader } = startExporting(receiver.url);
    const outcome = await reader.flush();
    expect(outcome).toEqual({
      delivered: false,
      reason: 'failed',
      error: expect.objectContaining({ message: 'Export failed with retryable status' }),
    });
  });

  it('is not when the deadline comes while the exporter is still trying', async () => {
    const receiver = await startReceiver(refuse(503));
    const { reader } = startExporting(receiver.url, 3000);
    expect(await reader.flush({ timeoutMillis: 100 })).toEqual({
      delivered: false,
      reason: 'timeout',
      error: new Error('no answer in 100 ms'),
    });
  });

  it('is not when the deadline comes while the receiver is silent', async () => {
    const receiver = await startReceiver(() => {});
    const { reader } = startExporting(receiver.url);
    const outcome = reader.flush({ timeoutMillis: 50 });
    await receiver.arrived(1);
    expect(await outcome).toEqual({
      delivered: false,
      reason: 'timeout',
      error: new Error('no answer in 50 ms'),
    });
  });

  it('is not when nobody listens', async () => {
    const { reader } = startExporting(await closedAddress());
    expect(await reader.flush()).toEqual({
      delivered: false,
      reason: 'failed',
      error: expect.objectContaining({ code: 'ECONNREFUSED' }),
    });
  });
});

describe('a flush', () => {
  it('of a reader with nothing to send is delivered with 0 data points and sends nothing', async () => {
    const receiver = await startReceiver();
    const { reader } = startPipeline(exporterTo(receiver.url));
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 0 });
    expect(receiver.arrivals).toHaveLength(0);
  });

  it('counts as delivered where the receiver took the request but not all of its points', async () => {
    const receiver = await startReceiver((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"partialSuccess":{"rejectedDataPoints":1}}'),
    );
    const { reader, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 1 });
  });

  it('is not delivered when the collection fails, which the forceFlush of the SDK does not tell', async () => {
    const receiver = await startReceiver();
    const failure = new Error('no statistics today');
    const metricProducers = [{ collect: () => Promise.reject(failure) }];
    const { reader, provider, meter } = startPipeline(exporterTo(receiver.url), { metricProducers });
    meter.createCounter('requests').add(1);
    await expect(provider.forceFlush()).resolves.toBeUndefined();
    expect(await reader.flush()).toEqual({ delivered: false, reason: 'failed', error: failure });
    expect(receiver.arrivals).toHaveLength(0);
  });

  it('is not delivered when the exporter throws what has no text', async () => {
    const { reader, meter } = startPipeline({
      export: () => {
        throw Object.create(null);
      },
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    });
    meter.createCounter('requests').add(1);
    expect(await reader.flush()).toEqual({
      delivered: false,
      reason: 'failed',
      error: new Error('object'),
    });
  });

  it('is not delivered when the exporter throws', async () => {
    const failure = new Error('not today');
    const { reader, meter } = startPipeline({
      export: () => {
        throw failure;
      },
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    });
    meter.createCounter('requests').add(1);
    expect(await reader.flush()).toEqual({ delivered: false, reason: 'failed', error: failure });
  });

  it('takes a limit that is no number above 0 for the default', async () => {
    const receiver = await startReceiver();
    const { reader, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    for (const timeoutMillis of [Number.NaN, -1, 0, Infinity]) {
      expect(await reader.flush({ timeoutMillis })).toEqual({ delivered: true, dataPoints: 1 });
    }
  });

  it('of a reader that no provider has is not delivered', async () => {
    const reader = new ConfirmingMetricReader({ exporter: exporterTo(await closedAddress()) });
    expect(await reader.flush()).toMatchObject({
      delivered: false,
      reason: 'failed',
      error: new Error('MetricReader is not bound to a MetricProducer'),
    });
  });

  it('after the shutdown is not delivered', async () => {
    const receiver = await startReceiver();
    const { reader, provider } = startPipeline(exporterTo(receiver.url));
    await provider.shutdown();
    expect(await reader.flush()).toEqual({
      delivered: false,
      reason: 'failed',
      error: new Error(
        'nothing was collected: the reader has been shut down, or belongs to another provider',
      ),
    });
  });

  it('shares one collection, and its answer, with others called at the same time', async () => {
    const receiver = await startReceiver((response, index) =>
      (index === 0 ? refuse(400) : accept)(response, index),
    );
    const { reader, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    const outcomes = await Promise.all([reader.flush(), reader.flush(), reader.flush()]);
    expect(outcomes.map((outcome) => outcome.delivered)).toEqual([false, false, false]);
    expect(receiver.arrivals).toHaveLength(1);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 1 });
  });
});

describe('a flush in several batches', () => {
  const options = { maxExportBatchSize: 2 };

  function recordFive(meter: Meter): void {
    const counter = meter.createCounter('requests');
    for (const engine of ['0', '1', '2', '3', '4']) counter.add(1, { engine });
  }

  it('is delivered when each has been accepted', async () => {
    const receiver = await startReceiver();
    const { reader, meter } = startPipeline(exporterTo(receiver.url), options);
    recordFive(meter);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 5 });
    expect(receiver.arrivals).toHaveLength(3);
  });

  it('is not when one has been refused', async () => {
    const receiver = await startReceiver((response, index) =>
      (index === 1 ? refuse(400) : accept)(response, index),
    );
    const { reader, meter } = startPipeline(exporterTo(receiver.url), options);
    recordFive(meter);
    expect(await reader.flush()).toMatchObject({ delivered: false, error: { code: 400 } });
    expect(receiver.arrivals).toHaveLength(3);
  });

  it('is not when the reader gave up waiting for one, and with it left the others unsent', async () => {
    const { receiver, answerFirst } = await startHesitant(accept);
    onGivingUp(answerFirst);
    const { reader, meter } = startPipeline(exporterTo(receiver.url), {
      ...options,
      exportTimeoutMillis: 50,
    });
    recordFive(meter);
    expect(await reader.flush()).toEqual({
      delivered: false,
      reason: 'failed',
      error: new Error('the reader gave up before everything was sent: exportTimeoutMillis was over'),
    });
    expect(receiver.arrivals).toHaveLength(1);
  });

  it('is delivered when the only one is accepted after the reader gave up waiting', async () => {
    let answer = (): void => {};
    const receiver = await startReceiver((response) => {
      answer = () => response.end();
    });
    onGivingUp(() => answer());
    const { reader, meter } = startPipeline(exporterTo(receiver.url), { exportTimeoutMillis: 50 });
    recordFive(meter);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 5 });
  });

  it('waits for an answer longer than the reader does, whatever forceFlush of the exporter waits for', async () => {
    const exporter = new PatientExporter(AggregationTemporality.CUMULATIVE);
    onGivingUp(() => exporter.deliver());
    const { reader, meter } = startPipeline(exporter, { exportTimeoutMillis: 50 });
    recordFive(meter);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 5 });
  });
});

describe.each<Temporality>(['cumulative', 'delta'])(
  'a flush while an export is under way, %s',
  (temporality) => {
    it('counts the failure of that one where its values do not come again', async () => {
      const { receiver, answerFirst } = await startHesitant(refuse(400));
      const { reader, meter } = startPipeline(exporterTo(receiver.url, { temporality }));
      const counter = meter.createCounter('requests');
      counter.add(1);
      const first = reader.flush();
      await receiver.arrived(1);
      counter.add(1);
      const second = reader.flush();
      answerFirst();
      expect(await first).toMatchObject({ delivered: false, error: { code: 400 } });
      expect(await second).toMatchObject(
        temporality === 'delta'
          ? { delivered: false, reason: 'failed', error: { code: 400 } }
          : { delivered: true, dataPoints: 1 },
      );
      expect(receiver.arrivals).toHaveLength(2);
    });

    it('takes gauges that no longer are what they were for no loss', async () => {
      const { receiver, answerFirst } = await startHesitant(refuse(400));
      const { reader, meter } = startPipeline(exporterTo(receiver.url, { temporality }));
      meter.createObservableGauge('load').addCallback((result) => result.observe(1));
      const first = reader.flush();
      await receiver.arrived(1);
      const second = reader.flush();
      answerFirst();
      expect(await first).toMatchObject({ delivered: false, error: { code: 400 } });
      expect(await second).toEqual({ delivered: true, dataPoints: 1 });
    });

    it('is delivered when both have been accepted', async () => {
      const { receiver, answerFirst } = await startHesitant(accept);
      const { reader, meter } = startPipeline(exporterTo(receiver.url, { temporality }));
      const counter = meter.createCounter('requests');
      counter.add(1);
      const first = reader.flush();
      await receiver.arrived(1);
      counter.add(1);
      const second = reader.flush();
      answerFirst();
      expect(await first).toEqual({ delivered: true, dataPoints: 1 });
      expect(await second).toEqual({ delivered: true, dataPoints: temporality === 'delta' ? 2 : 1 });
    });

    it('counts no data points of one that had ended before it', async () => {
      const receiver = await startReceiver();
      const { reader, meter } = startPipeline(exporterTo(receiver.url, { temporality }));
      const counter = meter.createCounter('requests');
      for (let round = 0; round < 2; round += 1) {
        counter.add(1);
        expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 1 });
      }
    });

    it('does not count a failure that came before it', async () => {
      const receiver = await startReceiver((response, index) =>
        (index === 0 ? refuse(400) : accept)(response, index),
      );
      const { reader, meter } = startPipeline(exporterTo(receiver.url, { temporality }));
      const counter = meter.createCounter('requests');
      counter.add(1);
      expect(await reader.flush()).toMatchObject({ delivered: false });
      counter.add(1);
      expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 1 });
    });
  },
);

describe('flushAndShutdown', () => {
  it('delivers with the last collection of the shutdown, which is the only one', async () => {
    const receiver = await startReceiver();
    const { reader, provider, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    expect(await reader.flushAndShutdown(provider)).toEqual({ delivered: true, dataPoints: 1 });
    expect(receiver.arrivals).toHaveLength(1);
    expect(await reader.flush()).toMatchObject({ delivered: false, reason: 'failed' });
  });

  it('answers at the deadline while the shutdown goes on', async () => {
    const receiver = await startReceiver(() => {});
    const { reader, provider, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    let shutDown = false;
    const shutdown = async (): Promise<void> => {
      await provider.shutdown();
      shutDown = true;
    };
    const outcome = await reader.flushAndShutdown({ shutdown }, { timeoutMillis: 50 });
    expect(outcome).toMatchObject({ delivered: false, reason: 'timeout' });
    expect(shutDown).toBe(false);
  });

  it('is delivered at the deadline where everything has arrived and something else hangs', async () => {
    const receiver = await startReceiver();
    const { reader, provider, meter } = startPipeline(exporterTo(receiver.url));
    meter.createCounter('requests').add(1);
    const shutdown = async (): Promise<void> => {
      await provider.shutdown();
      await new Promise(() => {});
    };
    const outcome = await reader.flushAndShutdown({ shutdown }, { timeoutMillis: 500 });
    expect(outcome).toEqual({ delivered: true, dataPoints: 1 });
  });

  it('says why nothing was delivered where the shutdown fails before it', async () => {
    const { reader } = startPipeline(exporterTo(await closedAddress()));
    const failure = new Error('not now');
    expect(await reader.flushAndShutdown({ shutdown: () => Promise.reject(failure) })).toEqual({
      delivered: false,
      reason: 'failed',
      error: failure,
    });
  });
});

describe.each<Temporality>(['cumulative', 'delta'])(
  'the series of an engine that nobody knows, %s',
  (temporality) => {
    it('are not exported where they are of this package, and are where they are of another scope', async () => {
      const receiver = await startReceiver();
      const { reader, provider } = startPipeline(exporterTo(receiver.url, { temporality }));
      for (const scope of ['opentelemetry-instrumentation-vllm', 'app']) {
        const counter = provider.getMeter(scope).createCounter('requests');
        counter.add(1, { model_name: 'gone', engine: '1' });
        counter.add(1, { engine: '1' });
      }
      expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 3 });
    });
  },
);

describe('the reader', () => {
  it('aggregates as the exporter prefers', async () => {
    const exporter = new ExponentialExporter(AggregationTemporality.CUMULATIVE);
    const { reader, meter } = startPipeline(exporter);
    meter.createHistogram('duration').record(1);
    expect(await reader.flush()).toEqual({ delivered: true, dataPoints: 1 });
    expect(exporter.getMetrics()[0]!.scopeMetrics[0]!.metrics[0]!.dataPointType).toBe(
      DataPointType.EXPONENTIAL_HISTOGRAM,
    );
  });

  it('refuses the options that the reader of the SDK refuses', async () => {
    const exporter = exporterTo(await closedAddress());
    expect(() => new ConfirmingMetricReader({ exporter, exportIntervalMillis: 0 })).toThrow(
      'exportIntervalMillis must be greater than 0',
    );
  });
});

class ExponentialExporter extends InMemoryMetricExporter {
  selectAggregation(): AggregationOption {
    return { type: AggregationType.EXPONENTIAL_HISTOGRAM };
  }
}

/** Takes an export and answers when it is told to; forceFlush waits for nothing. */
class PatientExporter extends InMemoryMetricExporter {
  deliver = (): void => {};

  override export(...args: Parameters<InMemoryMetricExporter['export']>): void {
    this.deliver = () => super.export(...args);
  }
}

/** Calls back when the reader says that an export took longer than it waits. */
function onGivingUp(callback: () => void): void {
  const ignore = (): void => {};
  const error = (message: string): void => {
    if (message.includes('metrics export timed out')) callback();
  };
  diag.setLogger({ error, warn: ignore, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.ERROR);
  onTestFinished(() => diag.disable());
}
