import { once } from 'node:events';
import { createRequire } from 'node:module';
import type * as Http from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { recordPreemption } from '../../src/request/request-context.ts';
import type { AdoptOptions } from '../../src/request/request-options.ts';
import { endings } from '../support/per-request.ts';
import { startService, type Service } from '../support/service.ts';

const instrumentation = new HttpInstrumentation();
// Patched where it is required after the instrumentation has been made.
const http = createRequire(import.meta.url)('node:http') as typeof Http;

/** A server under the real HTTP instrumentation, whose server span each handler finds active. */
async function serve(service: Service, handle: Http.RequestListener): Promise<Http.ClientRequest> {
  instrumentation.setTracerProvider(service.traced.provider);
  const server = http.createServer(handle).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false });
}

/** Adopts the active span in a handler, and says when the request has ended. */
function adoption(
  service: Service,
  handle: Http.RequestListener,
  options: (response: Http.ServerResponse) => AdoptOptions = (response) => ({ response }),
): { listener: Http.RequestListener; closed: Promise<void> } {
  let resolve = (): void => {};
  const closed = new Promise<void>((settle) => {
    resolve = settle;
  });
  const listener: Http.RequestListener = (request, response) => {
    service.vllm.adopt(trace.getActiveSpan(), options(response));
    recordPreemption();
    // Behind every listener there is by then, the instrumentation's own among them.
    response.on('close', () => setImmediate(resolve));
    handle(request, response);
  };
  return { listener, closed };
}

describe('the server span of the HTTP instrumentation, adopted', () => {
  it('ends the request as a stop when the response has been sent, with the preemptions below it', async () => {
    const service = startService();
    const { listener, closed } = adoption(service, (_, response) => response.end('done'));
    const [answer] = (await once(await serve(service, listener), 'response')) as [Http.IncomingMessage];
    answer.resume();
    await closed;
    const reading = await service.read();
    expect(endings(reading)).toEqual({ stop: 1 });
    expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
  });

  it('ends it as an abort when the client leaves before that', async () => {
    const service = startService();
    const { listener, closed } = adoption(service, (_, response) => response.write('the first part'));
    const client = await serve(service, listener);
    client.on('error', () => {});
    await once(client, 'response');
    client.destroy();
    await closed;
    expect(endings(await service.read())).toEqual({ abort: 1 });
  });

  it('does not know of a client that leaves without the response', async () => {
    const service = startService();
    const { listener, closed } = adoption(
      service,
      (_, response) => response.write('the first part'),
      () => ({}),
    );
    const client = await serve(service, listener);
    client.on('error', () => {});
    await once(client, 'response');
    client.destroy();
    await closed;
    expect(endings(await service.read())).toEqual({ stop: 1 });
  });

  it('ends it as an error when the response is a failure of the server', async () => {
    const service = startService();
    const { listener, closed } = adoption(service, (_, response) => {
      response.statusCode = 500;
      response.end();
    });
    const [answer] = (await once(await serve(service, listener), 'response')) as [Http.IncomingMessage];
    answer.resume();
    await closed;
    expect(endings(await service.read())).toEqual({ error: 1 });
  });
});
