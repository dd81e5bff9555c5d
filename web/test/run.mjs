// Runs the tests of the page in Chromium.
//
// usage: node run.mjs [--long] [WORD...]
//
// With words, only the tests whose name has one of them. --long adds those that take minutes.
import { checks, quit } from './lab.mjs'
import './start.mjs'
import './guard.mjs'
import './scale.mjs'
import './use.mjs'
import './rooms.mjs'
import './failures.mjs'
import './hostile.mjs'
import './access.mjs'

const words = process.argv.slice(2).filter((w) => !w.startsWith('--'))
const long = process.argv.includes('--long')
let failed = 0
let done = 0
for (const { name, run, long: isLong } of checks) {
  if (words.length ? !words.some((w) => name.includes(w)) : isLong && !long) continue
  const start = performance.now()
  let result
  try {
    result = await Promise.race([
      run(),
      new Promise((_, reject) => setTimeout(() => reject(new Error('took more than 120 s')), 120_000).unref()),
    ])
  } catch (error) {
    failed++
    result = `FAILED: ${String(error.stack ?? error).split('\n').slice(0, 30).join('\n    ')}`
  }
  done++
  console.log(`${result?.startsWith?.('FAILED') ? '✗' : '✓'} ${name} (${Math.round(performance.now() - start)} ms)${result ? ` ${result}` : ''}`)
}
await quit()
console.log(`${done} tests, ${failed} failed`)
if (!done) {
  console.error('no test has such a name')
  process.exit(2)
}
process.exit(failed ? 1 : 0)
