// Runs the tests of the page in Chromium.
//
// usage: node run.mjs [--long] [WORD...]
//
// $SLIPWAY_PICTURES is a folder for pictures of the page after a failure.
//
// With words, only the tests whose name has one of them. --long adds those that take minutes.
import { checks, photograph, quit } from './lab.mjs'
import './start.mjs'
import './guard.mjs'
import './scale.mjs'
import './use.mjs'
import './forms.mjs'
import './results.mjs'
import './talk.mjs'
import './rooms.mjs'
import './failures.mjs'
import './hostile.mjs'
import './access.mjs'
import './apps.mjs'

const words = process.argv.slice(2).filter((w) => !w.startsWith('--'))
const long = process.argv.includes('--long')
const chosen = checks.filter((c) => (words.length ? words.some((w) => c.name.includes(w)) : long || !c.long))
if (!chosen.length) {
  console.error('run.mjs: no test has such a name')
  process.exit(2)
}
let failed = 0

const limit = (milliseconds) =>
  new Promise((_, reject) => setTimeout(() => reject(new Error(`took more than ${milliseconds / 1000} s`)), milliseconds).unref())

async function runOne({ name, run, seconds }) {
  const start = performance.now()
  let mark = '✓'
  let result
  try {
    result = await Promise.race([run(), limit(seconds * 1000)])
  } catch (error) {
    failed++
    mark = '✗'
    if (process.env.SLIPWAY_PICTURES) await photograph(process.env.SLIPWAY_PICTURES, name)
    result = String(error.stack ?? error).split('\n').slice(0, 40).join('\n    ')
  }
  console.log(`${mark} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)${result ? `: ${result}` : ''}`)
}

// Those that measure run alone, the others at the same time: they mostly wait.
for (const c of chosen.filter((c) => c.alone)) await runOne(c)
const rest = chosen.filter((c) => !c.alone)
const worker = async () => {
  for (let next = rest.shift(); next; next = rest.shift()) await runOne(next)
}
await Promise.all([worker(), worker(), worker()])
await quit()
console.log(`${chosen.length} tests, ${failed} failed`)
process.exit(failed ? 1 : 0)
