// Lock files hold digests and no addresses: `npm ci` then works with whatever registry a machine is set up for.
import { readFileSync } from 'node:fs';

const faults = ['package-lock.json', 'test/compat/package-lock.json'].flatMap((file) => {
  const { packages } = JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .flatMap(([path, { resolved, integrity }]) => [
      ...(resolved === undefined ? [] : [`${file}: ${path} has an address, ${resolved}`]),
      ...(integrity === undefined ? [`${file}: ${path} has no integrity digest`] : []),
    ]);
});

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exitCode = 1;
}
