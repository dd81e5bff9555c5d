// Measures slipway inspect and three other inspectors in one run, and prints a table.
//
// usage: node inspectors.mjs FOLDER [NAME...]
//
// FOLDER has a folder for each npm package, with install.json: what installing it took.
// scripts/inspectors makes it. With names, only these columns are measured.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const require = createRequire(import.meta.url)
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const [folder, ...names] = process.argv.slice(2)
const testserver = process.env.SLIPWAY_TESTSERVER ?? 'testserver'
const slipway = process.env.SLIPWAY_BINARY ?? 'slipway'
const node = process.env.SLIPWAY_NODE ?? process.execPath

const limit = 30_000 // milliseconds until a page counts as frozen
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const within = (ms, promise) => Promise.race([promise, sleep(ms).then(() => undefined)])

const children = new Set()
function start(command, args, env = {}) {
  const home = mkdtempSync(join(tmpdir(), 'inspectors-'))
  const child = spawn(command, args, {
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, BROWSER: 'none', MCP_AUTO_OPEN_ENABLED: 'false', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  children.add(child)
  child.text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (child.text += data))
  return child
}

const stop = (child) => {
  children.delete(child)
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

async function printed(child, pattern) {
  for (let i = 0; i < 1200; i++) {
    const found = pattern.exec(child.text)
    if (found) return found
    await sleep(50)
  }
  throw new Error(`no ${pattern} in ${child.text.slice(-500)}`)
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** ready waits until an address answers, and returns when. */
async function ready(url) {
  for (let i = 0; i < 6000; i++) {
    try {
      const response = await fetch(url)
      await response.body?.cancel()
      return performance.now()
    } catch {
      await sleep(10)
    }
  }
  throw new Error(`${url} does not answer`)
}

/** memory is the resident memory in MB of a process and all below it. */
function memory(pid) {
  const parents = new Map()
  const resident = new Map()
  for (const name of readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8')
      parents.set(Number(name), Number(/^PPid:\s+(\d+)/m.exec(status)[1]))
      resident.set(Number(name), Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0))
    } catch {
      // it has ended
    }
  }
  const below = (p) => p === pid || (parents.has(p) && below(parents.get(p)))
  const all = [...resident].filter(([p]) => below(p))
  return { mb: Math.round(all.reduce((sum, [, kb]) => sum + kb, 0) / 1024), processes: all.length }
}

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost', // no request leaves this machine
]

/** Visit is a page in a browser of its own: a frozen page takes its browser along. */
class Visit {
  clicks = 0
  foreign = new Set()
  bytes = 0
  scripts = 0

  async open(options = {}) {
    this.browser = await chromium.launch({ executablePath: process.env.SLIPWAY_CHROMIUM ?? '/usr/bin/chromium', args: flags })
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
    this.page = await context.newPage()
    this.page.setDefaultTimeout(20_000)
    this.page.on('request', (r) => {
      const { protocol, hostname } = new URL(r.url())
      if (/^(http|ws)s?:$/.test(protocol) && hostname !== '127.0.0.1' && !hostname.endsWith('localhost')) this.foreign.add(hostname)
    })
    const network = await context.newCDPSession(this.page)
    await network.send('Network.enable')
    const kinds = new Map()
    network.on('Network.responseReceived', (e) => kinds.set(e.requestId, e.type))
    network.on('Network.loadingFinished', (e) => {
      const kind = kinds.get(e.requestId)
      if (/^(Document|Script|Stylesheet|Font|Image|Manifest)$/.test(kind)) this.bytes += e.encodedDataLength
      if (kind === 'Script') this.scripts += e.encodedDataLength
    })
    return this
  }

  async click(locator) {
    this.clicks++
    await locator.first().click()
  }

  /** shows waits until the page has a text. It returns undefined if that takes too long. */
  async shows(text, most = limit) {
    const end = performance.now() + most
    while (performance.now() < end) {
      const found = await within(end - performance.now(), this.page.evaluate((t) => document.body.textContent.includes(t), text))
      if (found) return true
      await sleep(100)
    }
    return undefined
  }

  /** sample begins to measure how long the page draws nothing. */
  sample() {
    return this.page.evaluate(() => {
      window.longestBlock = 0
      let last = performance.now()
      const step = (now) => {
        window.longestBlock = Math.max(window.longestBlock, now - last)
        last = now
        requestAnimationFrame(step)
      }
      requestAnimationFrame(step)
    })
  }

  /** timed returns how long an action took until the page showed a text. */
  async timed(act, text) {
    await this.sample()
    const began = performance.now()
    // A page that freezes on the click does not answer it.
    const acted = await within(limit, act().then(() => true, () => false))
    const shown = acted && (await this.shows(text, limit - (performance.now() - began)))
    const took = performance.now() - began
    const answers = await within(5000, this.page.evaluate(() => new Promise((r) => requestAnimationFrame(() => r(window.longestBlock)))))
    if (answers === undefined) return `**frozen** > ${limit / 1000} s`
    if (!shown) return `not shown in ${limit / 1000} s`
    return `${seconds(took)}, block ${seconds(answers)}`
  }

  close() {
    return within(5000, this.browser.close())
  }
}

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const megabytes = (n) => `${(n / 1e6).toFixed(2)} MB`

// Each subject says how a person gets to its tools. start returns its child and the address of
// its page; connect connects to a server, and tools shows the list.
const subjects = {
  slipway: {
    title: 'slipway inspect',
    async start(url) {
      const began = performance.now()
      const child = start(slipway, ['inspect', '--no-open', ...(Array.isArray(url) ? url : [url])])
      const [address] = await printed(child, /http:\/\/\S+#[\w-]{40,}/)
      return { child, address, began, first: await ready(address.replace(/#.*/, '')) }
    },
    async connect() {},
    async tools(v) {
      await v.click(v.page.locator('.rail a[href="/t"]'))
    },
    row: '[data-list=tools] .row',
    search: 'input[placeholder^="Filter"]',
    async choose(v, name) {
      await v.page.locator('input[placeholder^="Filter"]').fill(name)
      await v.click(v.page.locator('[data-list=tools] .row', { hasText: name }))
    },
    async call(v) {
      await v.click(v.page.locator('.call-bar .primary'))
    },
  },
  inspector: {
    title: 'Inspector 2.12.0',
    async start() {
      const [port, sandbox, origin] = await Promise.all([freePort(), freePort(), freePort()])
      const began = performance.now()
      const env = { CLIENT_PORT: `${port}`, MCP_SANDBOX_PORT: `${sandbox}`, MCP_APP_ORIGIN_PORT: `${origin}` }
      const child = start(node, [join(folder, 'inspector/node_modules/.bin/mcp-inspector')], env)
      const first = await ready(`http://127.0.0.1:${port}/`)
      const [, token] = await printed(child, /Auth token: (\w+)/)
      return { child, began, first, token, address: `http://127.0.0.1:${port}/?MCP_INSPECTOR_API_TOKEN=${token}` }
    },
    link: (run, url) => `${run.address}&serverUrl=${encodeURIComponent(url)}&transport=http&autoConnect=${run.token}`,
    async connect(v) {
      await v.page.getByText('Connected', { exact: true }).first().waitFor()
    },
    async tools(v) {
      await v.click(v.page.getByText('Tools', { exact: true }))
    },
    row: 'button:has-text("flood")',
    search: 'input[placeholder="Search tools..."]',
    async choose(v, name) {
      await v.click(v.page.getByRole('button', { name }))
    },
    async call(v) {
      await v.click(v.page.getByRole('button', { name: /Execute/ }))
    },
  },
  mcpjam: {
    title: 'MCPJam 1.0.24',
    async start() {
      const port = await freePort()
      const began = performance.now()
      const child = start(node, [join(folder, 'mcpjam/node_modules/.bin/inspector'), '--port', `${port}`])
      return { child, began, address: `http://127.0.0.1:${port}/`, first: await ready(`http://127.0.0.1:${port}/`) }
    },
    async connect(v, url) {
      await v.click(v.page.getByText(/continue as guest/i))
      await v.click(v.page.getByText('Add Your First Server'))
      await v.page.getByPlaceholder('my-mcp-server').fill('tracker')
      await v.click(v.page.getByRole('combobox'))
      await v.click(v.page.getByRole('option', { name: /HTTP/ }))
      await v.page.getByPlaceholder(/^http/).first().fill(url)
      await v.click(v.page.getByRole('dialog').getByRole('button', { name: 'Add Server' }))
    },
    async tools(v) {
      await v.click(v.page.getByRole('button', { name: 'Tools', exact: true }))
    },
    row: ':text-is("flood")',
    texts: { big_json: 'Structured Output' }, // its tree is collapsed
    search: 'input[placeholder*="earch"]',
    async choose(v, name) {
      await v.click(v.page.getByText(name, { exact: true }))
    },
    async call(v) {
      await v.click(v.page.getByRole('button', { name: /Execute/ }))
    },
  },
  mcpuse: {
    title: 'mcp-use 2.5.2',
    async start() {
      const port = await freePort()
      const began = performance.now()
      const child = start(node, [join(folder, 'mcpuse/node_modules/.bin/mcp-inspect'), '--port', `${port}`, '--no-open'])
      const address = `http://127.0.0.1:${port}/inspector`
      return { child, began, address, first: await ready(address) }
    },
    link: (run, url) => `${run.address}?autoConnect=${encodeURIComponent(url)}`,
    async connect() {},
    async tools() {},
    row: '[data-testid^="tool-item-"]',
    async choose(v, name) {
      await v.click(v.page.getByTestId(`tool-item-${name}`))
    },
    async call(v) {
      await v.click(v.page.getByTestId('tool-execution-execute-button'))
    },
  },
}

/** list opens a page and waits until the tools of a server are listed. */
async function list(subject, run, url, options) {
  const v = await new Visit().open(options)
  await v.page.goto(subject.link?.(run, url) ?? run.address)
  await subject.connect(v, url)
  const began = performance.now()
  await subject.tools(v)
  await v.page.locator(subject.row).first().waitFor({ timeout: limit })
  v.listed = performance.now() - began
  return v
}

/** scroll moves through the list of tools, and returns how long each frame took. */
const scroll = (page, row) =>
  page.locator(row).first().evaluate(
    (e) =>
      new Promise((resolve) => {
        let box = e
        while (box && !(box.scrollHeight > box.clientHeight + 200 && /auto|scroll/.test(getComputedStyle(box).overflowY))) box = box.parentElement
        if (!box) return resolve(undefined)
        const gaps = []
        let last
        const step = (now) => {
          if (last !== undefined) gaps.push(now - last)
          last = now
          box.scrollTop += 400
          if (gaps.length < 120) requestAnimationFrame(step)
          else resolve(gaps.sort((a, b) => a - b))
        }
        requestAnimationFrame(step)
      }),
  )

const stops = () => {
  const all = document.querySelectorAll('a[href], button, input, select, textarea, [tabindex]')
  return [...all].filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true })).length
}

/** verdict is what a page says about a server that does not answer as it should. */
async function verdict(subject, url, wait) {
  const run = await subject.start(url)
  const v = await new Visit().open()
  try {
    await v.page.goto(subject.link?.(run, url) ?? run.address)
    await within(wait, subject.connect(v, url).catch(() => undefined))
    const lines = new Set()
    const end = performance.now() + wait
    while (performance.now() < end) {
      const text = await v.page.evaluate(() => document.body.innerText)
      for (const line of text.split('\n')) if (/fail|error|refus|40[0-9]|50[0-9]|token|connecting|waiting|timed? ?out|seconds/i.test(line)) lines.add(line.trim())
      await sleep(300)
    }
    return [...lines]
  } finally {
    await v.close()
    stop(run.child)
  }
}

async function measure(key, urls, report) {
  const subject = subjects[key]
  const url = `${urls}/mcp`
  const set = (name, value) => {
    console.error(`${subject.title}: ${name}: ${value}`)
    report(name, value)
  }
  const attempt = async (name, work) => {
    try {
      set(name, await work())
    } catch (error) {
      set(name, `not measured: ${String(error.message).split('\n')[0].slice(0, 80)}`)
    }
  }
  const install = join(folder, key, 'install.json')
  if (existsSync(install)) {
    const i = JSON.parse(readFileSync(install, 'utf8'))
    set('install into an empty cache: time / download / disk / files', `${i.seconds} s / ${i.cache} MB / ${i.disk} MB / ${i.files}`)
  } else set('install into an empty cache: time / download / disk / files', `0 / 0 / ${Math.round(readFileSync(slipway).length / 1e6)} MB binary / 1`)

  let run = await subject.start(url)
  set('start to first byte', seconds(run.first - run.began))
  await attempt('the page: clicks to the first result', async () => {
    const v = await list(subject, run, url)
    await subject.choose(v, 'fails')
    await subject.call(v)
    const ok = await v.shows('the tracker is not reachable')
    const paint = await v.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
    set('page weight on the wire (scripts)', `${megabytes(v.bytes)} (${megabytes(v.scripts)})`)
    set('first contentful paint', seconds(paint ?? 0))
    set('foreign hosts asked', [...v.foreign].join(', ') || 'none')
    const { mb, processes } = memory(run.child.pid)
    set('resident memory, processes', `${mb} MB, ${processes}`)
    await v.close()
    return ok ? v.clicks : 'no result'
  })
  await attempt('1,000 tools: time to list, elements', async () => {
    const v = await list(subject, run, url)
    const elements = await v.page.evaluate(() => document.querySelectorAll('*').length)
    set('Tab stops with 1,000 tools', await v.page.evaluate(stops))
    const gaps = await scroll(v.page, subject.row)
    const at = (q) => Math.round(gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * q))])
    set('1,000 tools: scroll, ms per frame median / p95 / max', gaps ? `${at(0.5)} / ${at(0.95)} / ${at(1)}` : 'nothing scrolls')
    if (subject.search) {
      const began = performance.now()
      await v.page.locator(subject.search).first().fill('create_issue_997')
      await v.page.waitForFunction(() => !document.body.innerText.includes('big_text'), null, { polling: 'raf' })
      set('1,000 tools: search', seconds(performance.now() - began))
      await v.page.locator(subject.search).first().fill('')
    } else set('1,000 tools: search', 'behind an icon')
    await v.page.evaluate(axeSource)
    const found = await v.page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { resultTypes: ['violations'] })
      return { all: violations.length, bad: violations.filter((x) => /serious|critical/.test(x.impact)).length }
    })
    set('axe violations in tools (serious or critical)', `${found.all} (${found.bad})`)
    await v.page.evaluate(() => document.activeElement?.blur())
    await v.page.keyboard.press('Control+k')
    await sleep(800)
    set('palette on Ctrl K', (await v.page.locator('dialog[open], [role=dialog], [cmdk-root], .palette').count()) ? 'yes' : 'no')
    await v.close()
    return `${seconds(v.listed)}, ${elements}`
  })
  await attempt('dark by the setting of the system', async () => {
    const background = async (colorScheme) => {
      const v = await list(subject, run, url, { colorScheme })
      const dark = await v.page.evaluate(() => {
        let e = document.elementFromPoint(innerWidth / 2, innerHeight / 2)
        for (; e; e = e.parentElement) {
          const color = getComputedStyle(e).backgroundColor
          if (!/, 0\)$|transparent/.test(color)) return color
        }
        return ''
      })
      await v.close()
      return dark
    }
    return (await background('dark')) === (await background('light')) ? 'no' : 'yes'
  })
  for (const [name, tool, text] of [
    ['5 MB of text', 'big_text', 'quick brown fox'],
    ['4 MB of structured content', 'big_json', '40,000 rows'],
    ['10,000 notifications in a call', 'flood', 'flooded'],
  ]) {
    await attempt(name, async () => {
      stop(run.child)
      run = await subject.start(url)
      const v = await list(subject, run, url)
      try {
        await subject.choose(v, tool)
        await sleep(500)
        return await v.timed(() => subject.call(v), subject.texts?.[tool] ?? text)
      } finally {
        await v.close()
      }
    })
  }
  stop(run.child)
  set('load average of the machine meanwhile', loadavg()[0].toFixed(1))
  for (const [name, path, wait] of [
    ['status 401', `${urls}/401`, 6000],
    ['a server that never answers, after 12 s', `${urls}/hang`, 12_000],
    ['a port that refuses', `http://127.0.0.1:${await freePort()}/mcp`, 6000],
  ]) {
    await attempt(name, async () => {
      const lines = await verdict(subject, path, wait)
      return lines.sort((a, b) => b.length - a.length)[0]?.slice(0, 140) ?? 'nothing'
    })
  }
}

const titles = []
const results = new Map()
const server = start(testserver, ['http'])
const [urls] = await printed(server, /http:\/\/\S+/)
const columns = Object.keys(subjects).filter((k) => !names.length || names.includes(k))
try {
  for (const key of columns) {
    titles.push(subjects[key].title)
    await measure(key, urls, (name, value) => {
      if (!results.has(name)) results.set(name, {})
      results.get(name)[key] = value
    })
  }
} finally {
  for (const child of [...children]) stop(child)
}
const escape = (text) => String(text ?? '').replaceAll('|', '\\|').replaceAll('<', '&lt;')
console.log(`Load average ${loadavg().map((n) => n.toFixed(1)).join(', ')}, ${process.version}\n`)
console.log(`| | ${titles.join(' | ')} |`)
console.log(`| --- |${' --- |'.repeat(titles.length)}`)
for (const [name, values] of results) console.log(`| ${name} | ${columns.map((k) => escape(values[k])).join(' | ')} |`)
process.exit(0)
