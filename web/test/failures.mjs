// Servers that fail: the page names the step and one thing to do.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { check, connected, holds, inspect, must, none, ready, temporary, testserver, urls, visit } from './lab.mjs'

const overview = async (sources, options) => {
  const lab = await inspect(sources, options)
  const { page, clean, close } = await visit(lab)
  return { lab, page, clean, close, text: () => page.locator('main').innerText() }
}

const failing = (name, sources, { step, action }) =>
  check(`fails: ${name}`, async () => {
    const list = await sources()
    const { lab, page, clean, close, text } = await overview(list)
    await connected(lab)
    const known = performance.now()
    await page.waitForFunction(
      ([a, b]) => {
        const shown = document.querySelector('main').innerText.toLowerCase()
        return shown.includes(a) && new RegExp(b, 'i').test(shown)
      },
      [step.toLowerCase(), action.source],
      { timeout: 5000 },
    ).catch(async () => {
      throw new Error(`“${step}” and ${action} are not both in:\n${(await text()).slice(0, 2500)}`)
    })
    const after = performance.now() - known
    must(after < 1000, `shown ${after} ms after it was known`)
    none(await clean())
    await close()
    lab.stop()
    return `shown ${after.toFixed(0)} ms after it was known`
  }, { alone: true })

failing('status 401', async () => [`${await urls()}/401`], { step: '401', action: /MCP_CLIENT_TOKEN/ })
failing('status 401 without metadata', async () => [`${await urls()}/401`], { step: '/.well-known/oauth-protected-resource', action: /neither the server nor its host has metadata/ })
failing('a login is required', async () => [`${await urls()}/login`], { step: '/as/.well-known/openid-configuration → 200', action: /files:read[^]*slipway login http:/ })
failing('status 404', async () => [`${await urls()}/404`], { step: '404', action: /try again/ })
failing('refused port', async () => ['http://127.0.0.1:1/mcp'], { step: 'connection refused', action: /try again/ })
failing('a connection that is cut', async () => [`${await urls()}/dies`], { step: 'eof', action: /try again/ })
failing('a process that dies', async () => ['--', testserver, 'dies'], { step: 'FATAL: missing environment variable API_KEY', action: /exit status 1/ })
failing('a program that does not exist', async () => ['--', '/nowhere/server'], { step: 'not found', action: /try again/ })

check('an HTTP error that is no message answers its request in Traffic, with its status and what came', async () => {
  const lab = await inspect([`${await urls()}/404`])
  await connected(lab)
  const { page, clean, close } = await visit(lab, { path: 'f' })
  const row = page.locator('[data-list=traffic] .row', { hasText: 'server/discover' }).first()
  await row.getByText('HTTP status 404, not a message').waitFor()
  must(!(await page.locator('[data-list=traffic]').innerText()).includes('(open)'), 'a request is shown as open')
  await row.click()
  await page.getByRole('tab', { name: 'Response' }).click()
  await page.locator('.details').getByText('404 page not found').waitFor()
  none(await clean())
  await close()
  lab.stop()
})

check('fails: a server that never answers has a clock and a way to stop', async () => {
  const { lab, page, clean, close, text } = await overview([`${await urls()}/hang`])
  const stop = page.locator('main').getByRole('button', { name: /stop|give up/i })
  await stop.waitFor({ timeout: 15_000 }).catch(async () => {
    throw new Error(`no Stop in:\n${(await text()).slice(0, 2500)}`)
  })
  const clock = async () => /(\d+(\.\d+)?) ?s|\d\d:\d\d/.exec(await page.locator('.bar .chip').first().innerText())?.[0]
  await page.waitForTimeout(1100)
  const before = await clock()
  await page.waitForTimeout(1200)
  await holds(async () => before && (await clock()) !== before, `the clock stands at ${before}`)
  await stop.click()
  await page.getByRole('button', { name: /try again/i }).first().waitFor()
  none(await clean())
  await close()
  lab.stop()
})

check('a server that is lost: the form and the results stay usable', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 't/get_issue_10' })
  await ready(page)
  await page.locator('[data-list=tools] .row').nth(20).waitFor()
  const { sources } = await (await lab.api('state')).json()
  process.kill(sources[0].pid, 'SIGKILL')
  await page.waitForFunction(() => !document.querySelector('.chip .dot.ok'), null, { timeout: 8000 }).catch(() => undefined)
  await holds(async () => (await page.locator('[data-list=tools] .row').count()) > 10, 'the tools are gone')
  await ready(page) // it is started again
  none(await clean())
  await close()
  lab.stop()
})

// Streams of the page can be cut, and stay refused while window.isCut.
const cuttable = (page) =>
  page.addInitScript(() => {
    const { fetch } = window
    window.fetch = (url, init) => {
      if (!/api\/stream/.test(url)) return fetch(url, init)
      if (window.isCut) return Promise.reject(new TypeError('the connection is cut'))
      const abort = new AbortController()
      window.cut = () => {
        window.isCut = true
        abort.abort()
      }
      return fetch(url, { ...init, signal: abort.signal })
    }
  })

check('a connection that is lost: the page connects again, and learns how its call has ended meanwhile', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 't/hang', prepare: cuttable })
  await ready(page)
  await page.locator('.call-bar').getByRole('button', { name: /^Call/ }).click()
  await page.locator('[data-cancel]').waitFor()
  await page.evaluate(() => window.cut())
  await page.locator('.bar.lost').waitFor()
  const cancelled = await lab.api('cancel', { method: 'POST', body: '{"call":1}' })
  must(cancelled.ok, `the call is not cancelled: ${cancelled.status}`)
  await holds(async () => (await (await lab.api('call/1')).json()).state === 'cancelled', 'the call still runs')
  await page.evaluate(() => (window.isCut = false))
  await page.locator('.bar.lost').waitFor({ state: 'detached' })
  await page.locator('.result').getByText('cancelled').first().waitFor()
  must((await page.locator('[data-cancel]').count()) === 0, 'the call still runs on the page')
  none(await clean())
  await close()
  lab.stop()
})

check('a server that ends again and again: why, the next attempt, and a button to try now', async () => {
  const file = join(temporary, 'crashed')
  const lab = await inspect(['--', testserver, 'zoo'], { env: { ZOO_CRASHED: file } })
  const { page, clean, close } = await visit(lab, { path: 't/crash' })
  await ready(page)
  await page.getByRole('button', { name: /^Call/ }).click()
  const banner = page.locator('.banner.warn')
  await banner.waitFor()
  await page.waitForFunction(() => /ended, attempt \d+ in \d+ s.*FATAL: the license has expired/s.test(document.querySelector('.banner.warn')?.innerText ?? ''))
  await holds(async () => (await page.locator('[data-list=tools] .row').count()) > 5, 'the tools are gone')
  const now = banner.getByRole('button', { name: 'Now' })
  await now.waitFor()
  rmSync(file)
  await now.click({ timeout: 2000 }).catch(() => undefined) // the next attempt may be faster
  await banner.waitFor({ state: 'detached' })
  await ready(page)
  none(await clean())
  await close()
  lab.stop()
})

check('links: arguments that are too long for an address are those of a call', async () => {
  const lab = await inspect(['--', testserver, 'zoo'])
  const { page, clean, close } = await visit(lab, { path: 't/echo_fields' })
  await ready(page)
  const long = 'x'.repeat(6000)
  await page.locator('[id="f/name"]').fill(long)
  await page.locator('.call-bar').getByRole('button', { name: /^Call/ }).click()
  await page.getByRole('button', { name: 'Send anyway' }).click()
  await page.waitForURL('**c=1*')
  const other = await visit(lab, { path: page.url().slice(lab.base.length) })
  await ready(other.page)
  await other.page.waitForFunction((n) => document.getElementById('f/name')?.value.length === n, long.length)
  none([...(await clean()), ...(await other.clean())])
  await other.close()
  await close()
  lab.stop()
})
