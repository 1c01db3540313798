import { describe, expect, it } from 'vitest';
import { stampExposition } from './stamp-exposition.ts';

describe('stampExposition', () => {
  it('gives each sample of OpenMetrics the time in seconds, before an exemplar, and leaves comments alone', () => {
    const text = `# TYPE vllm:x histogram
# HELP vllm:x Of 5 things.
vllm:x_bucket{model_name="a } # {b\\" 1",le="1.0"} 3.0 # {trace_id="t"} 0.5 1700000000.5
vllm:x_count 3.0
# EOF
`;
    expect(stampExposition(text, 'application/openmetrics-text; version=1.0.0', 1700000015))
      .toBe(`# TYPE vllm:x histogram
# HELP vllm:x Of 5 things.
vllm:x_bucket{model_name="a } # {b\\" 1",le="1.0"} 3.0 1700000015 # {trace_id="t"} 0.5 1700000000.5
vllm:x_count 3.0 1700000015
# EOF
`);
  });

  it('gives each sample of the text format the time in milliseconds', () => {
    expect(stampExposition('x{a="b"} 1\ny +Inf\n', 'text/plain; version=0.0.4', 1700000015)).toBe(
      'x{a="b"} 1 1700000015000\ny +Inf 1700000015000\n',
    );
  });
});
