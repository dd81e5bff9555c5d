// What the tests share: servers, slipway inspect, a browser that reports everything that is wrong.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../..', import.meta.url))
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** The programs, which scripts/inspect builds. */
export const slipway = process.env.SLIPWAY_BINARY ?? join(root, 'slipway')
export const testserver = process.env.SLIPWAY_TESTSERVER ?? join(root, 'testserver')
export const weather = process.env.SLIPWAY_WEATHER ?? join(root, 'weather')
export const everything = [process.execPath, require.resolve('@modelcontextprotocol/server-everything/dist/index.js')]
export const examples = join(root, 'examples')

export const temporary = mkdtempSync(join(tmpdir(), 'slipway-inspect-'))
const children = new Set()

/** until resolves when a child has printed what matches. */
function until(child, pattern, what) {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => reject(new Error(`${what} printed no ${pattern} in 30 s: ${text}`)), 30_000)
    const read = (data) => {
      text += data
      const found = pattern.exec(text)
      if (!found) return
      clearTimeout(timer)
      resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`${what} exited with ${code}: ${text}`))
    })
  })
}

function start(command, args, env = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  children.add(child)
  child.on('exit', () => children.delete(child))
  return child
}

/** inspect starts slipway inspect for sources, as on a command line. */
export async function inspect(sources, options = {}) {
  const home = options.home ?? mkdtempSync(join(temporary, 'home-'))
  const started = performance.now()
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_CACHE_HOME: join(home, '.cache'), ...options.env }
  const child = start(slipway, ['inspect', '--no-open', ...(options.flags ?? []), ...sources], env)
  const [url] = await until(child, /http:\/\/\S+#[\w-]{40,}/, 'slipway inspect')
  const address = new URL(url)
  return {
    url,
    base: address.origin + address.pathname,
    token: address.hash.slice(1),
    started,
    child,
    home,
    stop: () => child.kill('SIGINT'),
    /** api sends a request without a browser. */
    api(path, init = {}) {
      return fetch(`${address.origin}/api/${path}`, {
        ...init,
        headers: { Authorization: `Bearer ${address.hash.slice(1)}`, ...init.headers },
      })
    },
  }
}

let folder
/** urls starts the HTTP test server once, and returns its address. */
export async function urls() {
  folder ??= until(start(testserver, ['http']), /http:\/\/\S+/, 'testserver').then(([url]) => url)
  return folder
}

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--enable-precise-memory-info', '--js-flags=--expose-gc',
]

const pages = new Set()

/** photograph writes a picture of each open page into a folder, to see why a test failed. */
export async function photograph(folder, name) {
  let i = 0
  for (const page of pages) {
    const file = `${name.replace(/\W+/g, '-')}-${i++}.png`
    await page.screenshot({ path: join(folder, file), timeout: 5000 }).catch(() => undefined)
  }
}

const program = { executablePath: process.env.SLIPWAY_CHROMIUM ?? '/usr/bin/chromium', args: flags }

let browser
export async function launch() {
  browser ??= chromium.launch(program)
  return browser
}

/** withProfile starts a browser that keeps data. The flags of Playwright refuse the storage of frames, so it has none of them. */
function withProfile(options) {
  const folder = mkdtempSync(join(temporary, 'profile-'))
  const args = [...flags, '--headless', '--remote-debugging-pipe', `--user-data-dir=${folder}`]
  return chromium.launchPersistentContext(folder, { ...program, args, ignoreDefaultArgs: true, ...options })
}

/**
 * visit opens a page. What it reports must be empty at the end: console, errors, violations of
 * the policy, failed and foreign requests. options.prepare gets the page before its address, and
 * options.profile asks for a browser of its own that keeps data.
 */
export async function visit(lab, options = {}) {
  const { path = '', quiet = [], prepare = async () => undefined, profile = false, ...rest } = options
  const look = { viewport: { width: 1280, height: 800 }, ...rest }
  const context = profile ? await withProfile(look) : await (await launch()).newContext(look)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  pages.add(page)
  page.on('close', () => pages.delete(page))
  page.setDefaultTimeout(10_000)
  const reports = []
  const report = (text) => {
    if (!quiet.some((q) => q.test(text))) reports.push(text)
  }
  const requests = []
  const refusals = []
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && report(`console ${m.type()}: ${m.text()} ${m.location().url}`))
  page.on('response', async (r) => {
    if (r.status() >= 400) refusals.push(`${r.status()} ${r.url()} ${r.request().postData()?.slice(0, 300)} ${await r.text().catch(() => '')}`)
  })
  page.on('pageerror', (e) => report(`uncaught: ${e.message}`))
  page.on('request', (r) => {
    requests.push(r.url())
    // The frames of apps have origins of their own on the same port.
    const { port, hostname, protocol } = new URL(r.url())
    const isApp = protocol === 'http:' && port === new URL(lab.base).port && hostname.endsWith('.localhost')
    if (!/^(data|blob):/.test(r.url()) && !r.url().startsWith(lab.base) && !isApp) report(`foreign request: ${r.url()}`)
  })
  await page.addInitScript(() => {
    window.reported = []
    addEventListener('securitypolicyviolation', (e) => window.reported.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
  })
  await prepare(page)
  await page.goto(lab.base + path + '#' + lab.token)
  return {
    page,
    context,
    reports,
    requests,
    refusals,
    /** clean returns what was reported since. */
    async clean() {
      reports.push(...(await page.evaluate(() => window.reported.splice(0))).map((v) => `policy: ${v}`))
      return reports.splice(0)
    },
    close: () => context.close(),
  }
}

/** ready waits until each source has connected and its lists are there. */
export async function ready(page, names = 1) {
  await page.waitForFunction(
    (n) => document.querySelectorAll('.chip .dot.ok, .chip .dot.muted').length >= n,
    names,
    { timeout: 60_000 }, // of a machine that is busy with other tests
  )
}

/** inApp returns the frame of an app inside the frame that keeps it apart; not the one before. */
export async function inApp(page, before) {
  for (let i = 0; i < 200; i++) {
    for (const frame of page.frames()) {
      if (frame !== before && new URL(frame.url() || 'about:blank').hostname.startsWith('app-')) return frame
    }
    await page.waitForTimeout(50)
  }
  throw new Error(`no app among ${page.frames().map((f) => f.url())}`)
}

/** violations runs axe-core, with best practices. */
export async function violations(page) {
  await page.evaluate(axeSource)
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ['violations'] })
    return result.violations.map((v) => `axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(' | ')}`)
  })
  return found
}

/**
 * tasks records the tasks of the main thread while work runs, and returns the length of the
 * longest in milliseconds: as the clock says, and as the processor says. A busy machine makes the
 * first longer, not the second.
 */
export async function tasks(page, work) {
  const b = await launch()
  await b.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'] })
  await work()
  const { traceEvents } = JSON.parse((await b.stopTracing()).toString())
  const main = new Set(
    traceEvents
      .filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain')
      .map((e) => `${e.pid} ${e.tid}`),
  )
  let clock = 0
  let processor = 0
  let total = 0
  for (const e of traceEvents) {
    if (e.ph !== 'X' || !/RunTask$/.test(e.name) || !main.has(`${e.pid} ${e.tid}`)) continue
    clock = Math.max(clock, e.dur / 1000)
    processor = Math.max(processor, (e.tdur ?? e.dur) / 1000)
    total += (e.tdur ?? e.dur) / 1000
  }
  if (!total) throw new Error('the trace has no task of the page')
  return { clock: Math.round(clock), processor: Math.round(processor), total: Math.round(total) }
}

/**
 * observe makes the page record how long it takes from each click until what it changes is painted, and its tasks
 * of over 50 ms. The browser measures both, so the time of the test and its round trips are not part of them, as
 * with a user. Returns a function that returns the longest of each in milliseconds, and when each click was made.
 */
export async function observe(page) {
  await page.evaluate(() => {
    const seen = { clicks: [], tasks: [] }
    window.observed = seen
    addEventListener('click', (e) => seen.clicks.push({ at: e.timeStamp, took: 0 }), { capture: true })
    const clickAt = (at) => seen.clicks.find((c) => Math.abs(c.at - at) < 1)
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) if (e.name === 'click') clickAt(e.startTime).took = e.duration
    }).observe({ type: 'event', durationThreshold: 16 }) // faster ones are not reported
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) seen.tasks.push(e.duration)
    }).observe({ type: 'longtask' })
  })
  return () =>
    page.evaluate(async () => {
      await new Promise((resolve) => setTimeout(resolve, 200)) // observers are called after the paint
      const { clicks, tasks } = window.observed
      return { click: Math.max(0, ...clicks.map((c) => c.took)), task: Math.max(0, ...tasks), at: clicks.map((c) => c.at) }
    })
}

const sessions = new WeakMap()

/** metrics returns the counters of the page. They count from the first time on. */
export async function metrics(page) {
  let session = sessions.get(page)
  if (!session) {
    session = await page.context().newCDPSession(page)
    sessions.set(page, session)
    await session.send('Performance.enable')
  }
  const { metrics: list } = await session.send('Performance.getMetrics')
  return Object.fromEntries(list.map((m) => [m.name, m.value]))
}

/** connected waits until each source has connected, or has given up. */
export async function connected(lab) {
  for (let i = 0; i < 300; i++) {
    const { sources } = await (await lab.api('state')).json()
    if (sources.every((s) => s.phase !== 'connecting')) return sources
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('a source is still connecting after 15 s')
}

/** call starts a call without the page, and waits until it has ended in Traffic. */
export async function call(lab, name, args = {}, wait = true) {
  const body = JSON.stringify({ source: 1, method: 'tools/call', params: { name, arguments: args }, send_anyway: true })
  await connected(lab)
  const response = await lab.api('call', { method: 'POST', body })
  if (!response.ok) throw new Error(`${name}: ${await response.text()}`)
  const { call: id } = await response.json()
  for (let i = 0; wait && i < 300; i++) {
    const { running } = await (await lab.api('state')).json()
    if (!running.some((c) => c.id === id)) return id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return id
}

/** total returns how many frames match a filter. */
export async function total(lab, filter) {
  const answer = await (await lab.api(`search?limit=1&q=${encodeURIComponent(filter)}`)).json()
  return answer.total
}

/** quit ends what was started. */
export async function quit() {
  if (browser) await (await browser).close()
  for (const child of children) child.kill('SIGKILL')
  rmSync(temporary, { recursive: true, force: true })
}

/**
 * checks are the tests, in the order of their registration. One that measures runs alone; a long
 * one runs only if it is asked for. Each may take some seconds, also on a busy machine.
 */
export const checks = []
export const check = (name, run, { long = false, alone = false, seconds = long ? 600 : 120 } = {}) =>
  checks.push({ name, run, long, alone, seconds })

/**
 * strict reports whether the bounds of time are those of an idle machine, by the clock. Otherwise
 * tests share the machine with others, and wider bounds, mostly of processor time, show mistakes.
 */
export const strict = process.env.SLIPWAY_INSPECT_STRICT === '1'

/** within throws in strict mode if a time exceeds its bound. */
export function within(what, milliseconds, bound) {
  if (strict) must(milliseconds <= bound, `${what}: ${milliseconds.toFixed(1)} ms, not ${bound}`)
}

/** must throws unless a condition holds. */
export function must(condition, text) {
  if (!condition) throw new Error(text)
}

/** holds waits until a condition holds, and throws if it does not within 10 s. */
export async function holds(condition, text) {
  const end = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(typeof text === 'function' ? await text() : text)
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

/** none throws if a list has an entry. */
export function none(list, what = '') {
  if (list.length) throw new Error(`${what}${what ? ': ' : ''}${[...new Set(list)].slice(0, 12).join('\n    ')}`)
}
