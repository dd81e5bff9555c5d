'use strict';
// Builds the MCP server of a documentation after its generator, for the plugins next to this file.

const { execFile } = require('node:child_process');
const path = require('node:path');

const maxOutput = 64 << 20; // bytes of the report

/**
 * Builds the site of the project in folder, into the folder mcp of what the generator has
 * published. options are {host, baseUrl, folder, args, program}: the web host, the address of the
 * pages, another name for mcp, more arguments of "slipway site build", and the program to run.
 * Findings are passed to log.warn and log.info; the promise is rejected if the site cannot be
 * built.
 */
exports.build = (folder, published, options, log) => {
  const args = ['site', 'build', folder, '--json', '--site-root', published, '--output', path.join(published, options.folder ?? 'mcp')];
  if (options.host) args.push('--host', options.host);
  if (options.baseUrl) args.push('--base-url', options.baseUrl);
  args.push(...(options.args ?? []));
  const program = options.program ?? process.execPath;
  if (!options.program) args.unshift(path.join(__dirname, '..', 'bin', 'slipway.cjs'));
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder, maxBuffer: maxOutput }, (error, stdout, stderr) => {
      for (const finding of parsed(stdout)?.findings ?? []) {
        const place = finding.file ? `${finding.file}${finding.line ? ':' + finding.line : ''}: ` : '';
        const text = `slipway: ${place}${finding.message}`;
        if (finding.severity === 'note') log.info(text);
        else log.warn(text);
      }
      if (!error) return resolve(parsed(stdout));
      const said = parsed(stderr.trim().split('\n').pop())?.error;
      const reason = said ? said.message + (said.hint ? `\nhint: ${said.hint}` : '') : stderr.trim() || error.message;
      reject(new Error(`slipway: ${reason}`));
    });
  });
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
