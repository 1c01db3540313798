// Runs a command with the servers of the end-to-end tests on its PATH: `node scripts/with-servers.mjs vitest run …`.
// What the machine has is used. What it lacks is fetched from Debian, without root and beside the machine's own apt: the
// mirror is that of its sources, the signatures are verified, and the programs end up in node_modules/.cache/servers.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVERS = [
  {
    package: 'prometheus',
    suites: ['bookworm'],
    programs: ['prometheus', 'promtool'],
    suits: (program) => run(program, ['--version']).status === 0,
  },
  {
    package: 'victoria-metrics',
    // The one in bookworm has no OTLP.
    suites: ['trixie', 'sid'],
    programs: ['victoria-metrics'],
    suits: (program) => run(program, ['-help']).output.includes('-opentelemetry.'),
  },
];

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const COMMAND_TIMEOUT_MILLIS = 180_000;

const cache = fileURLToPath(new URL('../node_modules/.cache/servers', import.meta.url));

function run(command, args, options) {
  const child = spawnSync(command, args, { encoding: 'utf8', timeout: COMMAND_TIMEOUT_MILLIS, ...options });
  const { status, error, stdout, stderr } = child;
  return {
    status,
    output: `${stdout ?? ''}${stderr ?? ''}${error === undefined ? '' : `${error.message}\n`}`,
  };
}

/** @throws Error with what the command printed, where it fails. */
function mustRun(command, args, options) {
  const { status, output } = run(command, args, options);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed (${status}):\n${output.trim()}`);
  return output;
}

/** The archives that the machine's apt is set up for, security updates aside. */
function mirrors() {
  const targets = mustRun('apt-get', [
    'indextargets',
    '--format',
    '$(SITE) $(RELEASE)',
    'Identifier: Packages',
  ]);
  const lines = targets
    .trim()
    .split('\n')
    .filter((line) => !line.endsWith('-security'));
  const sites = [...new Set(lines.map((line) => line.split(' ')[0]).filter(Boolean))];
  if (sites.length === 0) throw new Error('the sources of apt on this machine name no archive');
  return sites;
}

/** Settings that leave the machine's apt as it is; read after its own, of which proxy and credentials stay. */
function writeSettings(folder, site, suite) {
  const signedBy = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  writeFileSync(join(folder, 'sources.list'), `deb ${signedBy}${site} ${suite} main\n`);
  const settings = join(folder, 'apt.conf');
  writeFileSync(
    settings,
    `Dir::Etc::SourceList "${join(folder, 'sources.list')}";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "${join(folder, 'state')}";
Dir::Cache "${join(folder, 'cache')}";
#clear APT::Default-Release;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Update::Error-Mode "any";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
`,
  );
  for (const name of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  return settings;
}

/** @throws Error with the reason, where the suite has no such package or its programs do not do. */
function unpack(server, site, suite) {
  const folder = mkdtempSync(join(tmpdir(), 'vllm-servers-'));
  try {
    const settings = writeSettings(folder, site, suite);
    mustRun('apt-get', ['-c', settings, '--quiet', 'update']);
    mustRun('apt-get', ['-c', settings, '--quiet', 'download', server.package], { cwd: folder });
    const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
    mustRun('dpkg', ['-x', archive, 'unpacked'], { cwd: folder });
    const programs = server.programs.map((name) => join(folder, 'unpacked', 'usr', 'bin', name));
    const unfit = programs.filter((program) => !server.suits(program));
    if (unfit.length > 0)
      throw new Error(`${archive}: ${unfit.join(', ')} does not run here or lacks a feature`);
    for (const [index, program] of programs.entries()) install(program, server.programs[index]);
    return archive;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Renamed into place, so that a run beside this one sees all of it or nothing. */
function install(program, name) {
  mkdirSync(cache, { recursive: true });
  const copy = join(cache, `${name}.${process.pid}`);
  copyFileSync(program, copy);
  chmodSync(copy, 0o755);
  renameSync(copy, join(cache, name));
}

/** @throws Error with all that was tried, where the server cannot be had. */
function fetchFromDebian(server) {
  const failures = [];
  for (const suite of server.suites) {
    for (const site of mirrors()) {
      console.log(`${server.package}: not on this machine, fetching it from Debian ${suite}`);
      try {
        console.log(`${server.package}: unpacked ${unpack(server, site, suite)}`);
        return;
      } catch (error) {
        failures.push(`${suite} of ${site}: ${error.message}`);
      }
    }
  }
  throw new Error(failures.join('\n'));
}

process.env.PATH = `${cache}${delimiter}${process.env.PATH}`;

const isMissing = (server) => !server.programs.every((program) => server.suits(program));
const [command, ...args] = process.argv.slice(2);
let failed = false;
for (const server of SERVERS.filter(isMissing)) {
  try {
    fetchFromDebian(server);
  } catch (error) {
    failed = true;
    console.error(`\nCannot bring ${server.programs.join(' and ')}. Tried:\n${error.message}\n`);
    console.error(`Put ${server.programs.join(' and ')} on the PATH to use your own.`);
  }
}
if (failed) process.exitCode = 1;
else if (command !== undefined) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error) throw error;
  process.exitCode = status ?? 1;
}
