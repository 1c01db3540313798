/** The instrumentation scope of every meter and tracer of this package. */
export const SCOPE_NAME = 'opentelemetry-instrumentation-vllm';

/** This package's version, as in `package.json` (a test compares them). */
export const SCOPE_VERSION = '0.1.0';
