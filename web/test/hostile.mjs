// A server whose every string tries to break out of the page.
import { call, check, holds, inApp, inspect, must, none, ready, testserver, visit } from './lab.mjs'

const fits = (page) =>
  page.evaluate(() => {
    const bar = document.querySelector('.bar').getBoundingClientRect()
    const rail = document.querySelector('.rail').getBoundingClientRect()
    const room = document.querySelector('main').getBoundingClientRect()
    return {
      owned: window.owned ?? Object.prototype.owned,
      sideways: document.documentElement.scrollWidth - innerWidth,
      stands: bar.top === 0 && bar.height < 60 && rail.width > 30 && room.width > innerWidth / 2 && room.bottom <= innerHeight + 1,
      images: [...document.images].filter((i) => !i.src.startsWith('data:image/')).length,
      links: [...document.querySelectorAll('a[href], area[href], form[action]')].filter((a) => !/^https?:$/.test(a.protocol ?? 'http:')).map((a) => a.href),
      frames: document.querySelectorAll('iframe, object, embed').length,
      hidden: getComputedStyle(document.body).display === 'none',
    }
  })

check('hostile server: nothing runs, the layout stands, nothing is asked for', async () => {
  const lab = await inspect(['--', testserver, 'hostile'])
  await call(lab, 'long')
  const { page, refusals, clean, close } = await visit(lab)
  await ready(page)
  const look = async (where) => {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    const is = await fits(page)
    must(is.owned === undefined, `${where}: a script ran`)
    must(is.sideways <= 0, `${where}: scrolls sideways by ${is.sideways} px`)
    must(is.stands && !is.hidden, `${where}: the layout is broken`)
    must(!is.images && !is.frames, `${where}: ${is.images} foreign images, ${is.frames} frames`)
    none(is.links, `${where}: links`)
  }
  await look('overview')
  let seen = 0
  for (const [room, list] of [['t', 'tools'], ['r', 'resources'], ['p', 'prompts']]) {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.evaluate(() => document.activeElement.blur())
    await page.keyboard.press('g')
    await page.keyboard.press(room)
    const entries = page.locator('main [data-list]').first()
    await entries.waitFor()
    await page.locator('main [data-list] .row').first().waitFor()
    for (let i = 0; i < 14; i++) {
      await entries.focus()
      if (i) await page.keyboard.press('j')
      else await page.keyboard.press('Home')
      await look(`${list} ${i}`)
      const button = page.locator('.call-bar .primary')
      if (await button.count()) {
        await button.click()
        await page.waitForTimeout(100)
        const anyway = page.getByRole('button', { name: 'Send anyway' })
        if (await anyway.count()) await anyway.click()
        await page.locator('.result .pill').waitFor({ timeout: 4000 }).catch(() => undefined)
        await look(`result of ${list} ${i}`)
        for (const tab of await page.locator('.result-tabs [role=tab]').all()) {
          await tab.click()
          await look(`a tab of ${list} ${i}`)
        }
        seen++
      }
    }
  }
  must(seen > 25, `only ${seen} results`)
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.locator('[data-list=traffic] .row').first().waitFor()
  await page.locator('[data-list=traffic]').focus()
  await page.keyboard.press('Home')
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press('j')
    await look(`traffic ${i}`)
  }
  for (const key of ['1', '2', '3', '4', '5']) {
    await page.keyboard.press(key)
    await look(`traffic tab ${key}`)
  }
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await page.locator('[data-list=calls] .row').first().waitFor()
  await page.locator('[data-list=calls]').focus()
  for (let i = 0; i < 5; i++) {
    await page.keyboard.press('j')
    await look(`history ${i}`)
  }
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await look('apps')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('img')
  await look('palette')
  none(refusals.map((r) => r.slice(0, 900)))
  none(await clean())
  await close()
  lab.stop()
  return `${seen} results`
}, { seconds: 300 })

check('hostile server: texts that are slow to read, and questions that are malformed', async () => {
  const lab = await inspect(['--', testserver, 'hostile'])
  const { page, clean, close } = await visit(lab, { path: 't/slow', quiet: [/api\/check/] })
  await ready(page)
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.locator('.call-bar .primary').click()
  await page.locator('.result').getByRole('button', { name: 'Show all' }).click()
  await page.locator('.result .markdown').nth(14).waitFor()
  // Each question that cannot be drawn is JSON, and can be answered.
  await call(lab, 'asks')
  await page.locator('.ask').nth(2).waitFor()
  const broken = page.locator('.ask', { hasText: 'sampling/createMessage' }).first()
  await broken.locator('.snippet', { hasText: 'null' }).waitFor()
  for (let left = 2; left >= 0; left--) {
    await page.locator('.ask button', { hasText: /^(Refuse|Decline)$/ }).first().click()
    await holds(async () => (await page.locator('.ask').count()) === left, 'a question stays')
  }
  none(await clean())
  await close()
  lab.stop()
})

check('hostile app: nothing leaves its frame, and what it says is text', async () => {
  const lab = await inspect(['--', testserver, 'hostile'])
  const { page, refusals, clean, close } = await visit(lab, { path: 'a/attack', quiet: [/attacker\.example/, /api\//, /frame-ancestors/, /Refused|Content Security Policy|Blocked|Unsafe attempt/i] })
  await ready(page)
  const look = async (where) => {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    const is = await fits(page)
    must(is.owned === undefined, `${where}: a script ran`)
    must(is.sideways <= 0 && is.stands && !is.hidden, `${where}: the layout is broken: ${JSON.stringify(is)}`)
    must(!is.images && is.frames <= 1, `${where}: ${is.images} foreign images, ${is.frames} frames`)
    none(is.links, `${where}: links`)
  }
  await page.getByRole('button', { name: /^Open only/ }).click()
  const app = await inApp(page)
  await app.waitForFunction(() => document.body.innerText.startsWith('done'), null, { timeout: 60_000 })
  const outcome = JSON.parse((await app.evaluate(() => document.body.innerText)).slice(5))
  must(Object.keys(outcome).length === 10, JSON.stringify(outcome))
  for (const [name, result] of Object.entries(outcome)) must(result === 'blocked', `${name}: ${result}`)
  const height = await page.locator('.app-frame').evaluate((f) => f.getBoundingClientRect().height)
  must(height >= 60 && height <= 900, `the frame is ${height} px high`)
  await look('open')
  await page.locator('.app-link', { hasText: 'attacker.example' }).waitFor()
  for (const tab of await page.locator('.app-work [role=tab]').all()) {
    await tab.click()
    await look(`tab ${await tab.textContent()}`)
    const list = page.getByRole('button', { name: 'List the tools of the app' })
    if (await list.count()) {
      await list.click()
      await look('tools of the app')
    }
    for (const message of (await page.locator('.app-messages li button').all()).slice(0, 30)) {
      await message.click()
      await look('a message')
    }
  }
  // Its calls without an answer leave connections to the page.
  const response = page.waitForResponse(/\/api\/app\/controls/)
  await page.evaluate(() => fetch('/api/app/controls', { headers: { Authorization: `Bearer ${sessionStorage.getItem('slipway-inspect-token')}` } }))
  await response
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  must(page.context().pages().length === 1, 'a window was opened')
  none(refusals.filter((r) => !/ http:\/\/app-/.test(r)))
  none(await clean())
  await close()
  lab.stop()
  return `${Object.keys(outcome).length} attempts`
}, { seconds: 300 })
