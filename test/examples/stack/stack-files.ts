import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';

/** The folder of the stack, without a slash at its end. */
export const stackFolder: string = fileURLToPath(new URL('../../../examples/stack', import.meta.url));

/** Part of what the Compose specification says of a service, in the forms that the stack uses. */
export interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
}

/** The compose file. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** What the YAML file holds. Duplicate keys, unknown tags, aliases of nothing and all else that is doubtful throw. */
export function readYaml(name: string): unknown {
  // Merge keys are YAML 1.1's, which Compose reads.
  const document = parseDocument(readFileSync(`${stackFolder}/${name}`, 'utf8'), { merge: true });
  const [doubt] = [...document.errors, ...document.warnings];
  if (doubt !== undefined) throw doubt;
  return document.toJS();
}

/** All texts in a parsed file, however deep. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
