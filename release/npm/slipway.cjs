#!/usr/bin/env node
'use strict'

// Starts the slipway program of this platform, which is in an optional dependency of this
// package: npm installs the one whose "os" and "cpu" fit, and nothing is downloaded later.

const childProcess = require('child_process')
const fs = require('fs')
const os = require('os')
const manifest = require('../package.json')

const windows = process.platform === 'win32'
const platform = process.platform + '-' + process.arch

try {
  run(findProgram())
} catch (err) {
  fail(err.message, 'report this at ' + manifest.bugs.url)
}

// findProgram returns the path of the program of this platform.
function findProgram () {
  const packages = Object.keys(manifest.optionalDependencies)
  const wanted = packages.find(name => name.endsWith('/' + platform))
  if (!wanted) {
    const known = packages.map(name => name.split('/')[1]).join(', ')
    fail('there is no program for ' + platform + ', only for ' + known, 'build it with Go: ' + manifest.slipway.goInstall)
  }
  const program = resolve(wanted)
  if (program) return program
  const other = packages.find(resolve)
  const reason = other
    ? 'the installed package ' + other + ' is for another platform than this Node.js (' + platform + ')'
    : 'the package ' + wanted + ' is not installed; were optional dependencies omitted?'
  fail(reason, installCommand(wanted))
}

// resolve returns the path of the program in an installed package, or undefined.
function resolve (name) {
  try {
    return require.resolve(name + '/bin/slipway' + (name.includes('/win32-') ? '.exe' : ''))
  } catch (err) {
    return undefined
  }
}

// installCommand returns the command that installs a package next to this one. A package
// that is named is not an optional dependency, so it is installed whatever is omitted.
function installCommand (name) {
  const both = [manifest.name, name].map(one => one + '@' + manifest.version)
  const agent = process.env.npm_config_user_agent || ''
  if (/[\\/]_npx[\\/]/.test(__dirname)) return 'npx --package=' + both.join(' --package=') + ' slipway'
  const manager = ['pnpm', 'yarn', 'bun'].find(one => agent.startsWith(one + '/'))
  if (manager) return manager + ' add ' + both[1]
  const global = /[\\/]lib[\\/]node_modules[\\/]/.test(__dirname) || /[\\/]npm[\\/]node_modules[\\/]/.test(__dirname)
  return 'npm install ' + (global ? '--global ' : '') + both.join(' ')
}

// run replaces this process with the program where Node.js can do that, so that neither
// memory nor a process is left between the client and the server.
function run (program) {
  const args = process.argv.slice(2)
  if (typeof process.execve === 'function' && !windows) {
    const problem = executable(program) // execve aborts Node.js if it fails
    if (problem) cannotRun(program, problem)
    process.execve(program, [program].concat(args), process.env)
  }
  const child = childProcess.spawn(program, args, { stdio: 'inherit', windowsHide: false })
  child.on('error', err => cannotRun(program, err))
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'].concat(windows ? 'SIGBREAK' : [])
  for (const signal of signals) process.on(signal, () => forward(child, signal))
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code)
    for (const one of signals) process.removeAllListeners(one)
    process.kill(process.pid, signal)
    setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000) // the signal is ignored
  })
}

// executable returns an error if a file cannot be executed on this system.
function executable (file) {
  try {
    fs.accessSync(file, fs.constants.X_OK)
  } catch (err) {
    return err
  }
}

// forward passes a signal on to the child. The console of Windows and Ctrl-C in a terminal
// signal the child themselves. A second SIGINT would stop it without draining, and kill on
// Windows always would.
function forward (child, signal) {
  if (windows) return
  if (signal === 'SIGINT' && [0, 1, 2].some(fd => require('tty').isatty(fd))) return
  child.kill(signal)
}

function cannotRun (program, err) {
  let hint = installCommand(Object.keys(manifest.optionalDependencies).find(name => name.endsWith('/' + platform)))
  if (err.code === 'EACCES') hint = 'chmod +x "' + program + '", unless its file system forbids programs (noexec)'
  fail('cannot run ' + program + ': ' + err.code, hint)
}

function fail (text, hint) {
  console.error('slipway: ' + text + '\nhint: ' + hint)
  process.exit(126)
}
