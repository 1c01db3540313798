import { resourceFromAttributes } from '@opentelemetry/resources';
import { once, EventEmitter } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Diagnostics } from '../../src/prometheus/diagnostics.ts';
import { TEXT } from '../../src/prometheus/exposition-format.ts';
import { ExpositionWriter } from '../../src/prometheus/exposition-writer.ts';
import { TargetInfo } from '../../src/prometheus/target-info.ts';
import { captureDiag } from './captured-diag.ts';

describe('TargetInfo', () => {
  it('has no family while a resource detector hangs, waits for it once, and says so', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const said = captureDiag();
    const looking = new EventEmitter();
    const resource = resourceFromAttributes({ 'host.id': once(looking, 'found').then(([id]) => String(id)) });
    const targetInfo = new TargetInfo(5000, new Diagnostics());
    const first = targetInfo.families(resource);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await first).toEqual([]);
    expect(await targetInfo.families(resource)).toEqual([]);
    expect(said).toEqual([
      'warn: opentelemetry-instrumentation-vllm/prometheus: target_info is left out until the resource is complete: resource detection took longer than 5000 ms',
    ]);
    looking.emit('found', 'abc');
    await resource.waitForAsyncAttributes?.();
    const [family] = await targetInfo.families(resource);
    const writer = new ExpositionWriter();
    expect(family?.members[0]?.write(0, TEXT, new Set(), writer)).toBe(true);
    expect(writer.written.toString()).toBe('target_info{host_id="abc"} 1.0\n');
  });

  it('has no family for a resource without attributes', async () => {
    expect(await new TargetInfo(5000, new Diagnostics()).families(resourceFromAttributes({}))).toEqual([]);
  });
});
