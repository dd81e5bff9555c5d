// The room Apps with the app of examples/weather.
import { check, holds, inApp, inspect, must, none, ready, testserver, total, violations, visit } from './lab.mjs'
import { chromium } from 'playwright-core'

const weather = process.env.SLIPWAY_WEATHER ?? 'weather'

check('apps: call a tool, see its app, change the host, and close it', async () => {
  const lab = await inspect(['--', weather, '-stdio'])
  const { page, clean, close } = await visit(lab, { path: 'a' })
  await ready(page)
  await page.waitForURL('**/a/get_weather*')
  // The link alone calls nothing; a missing argument is named.
  await page.getByRole('button', { name: /^Call and open/ }).click()
  await page.locator('.problem', { hasText: 'Not called' }).waitFor()
  await page.locator('#app-panel input').first().fill('Oslo')
  await page.keyboard.press('Control+Enter')
  await page.locator('.badge.ok', { hasText: 'ready' }).waitFor()
  const app = await inApp(page)
  await app.waitForFunction(() => /Oslo|no weather station/.test(document.body.innerText))
  const light = await app.evaluate(() => document.documentElement.dataset.theme ?? getComputedStyle(document.documentElement).colorScheme)
  await page.getByRole('tab', { name: /^Messages/ }).click()
  await page.locator('.app-messages', { hasText: 'ui/notifications/tool-result' }).waitFor()
  await page.locator('.app-controls').getByLabel('Theme').selectOption('dark')
  await page.locator('.app-messages', { hasText: 'host-context-changed' }).waitFor()
  await page.waitForURL('**theme=dark*')
  await page.locator('.app-controls').getByLabel('Theme').selectOption('light')
  await page.getByRole('tab', { name: /^Policy/ }).click()
  await page.locator('#app-panel', { hasText: 'Content-Security-Policy' }).waitFor()
  // An edited result reaches the app.
  await page.getByRole('tab', { name: 'Result' }).click()
  const area = page.locator('#app-panel textarea')
  await holds(async () => (await area.inputValue()).includes('content'), () => area.inputValue())
  await page.locator('#app-panel textarea').fill('{"content":[{"type":"text","text":"edited by hand"}],"isError":true}')
  await page.getByRole('button', { name: 'Open with this result' }).click()
  await page.waitForFunction(() => document.querySelector('.badge.ok')?.textContent === 'ready')
  const edited = await inApp(page, app)
  await edited.waitForFunction(() => document.body.innerText.includes('edited by hand'))
  await page.getByRole('button', { name: 'Close' }).click()
  await page.locator('.app-stage', { hasText: 'closed' }).waitFor()
  must(!page.frames().some((f) => f.url().includes('app-')), 'the frame of a closed app is still there')
  none(await clean())
  await close()
  lab.stop()
  return `color scheme ${light}`
})

check('apps: sizes, safe area, touch, partial input, a file, and accessibility', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  const { page, clean, close } = await visit(lab, { path: 'a/show' })
  await ready(page)
  const controls = page.locator('.app-controls')
  await controls.getByLabel('Device').selectOption('Phone')
  await controls.getByLabel('Width').fill('500')
  await controls.getByLabel('Width').blur()
  await page.locator('#app-panel input').first().fill('a text that a model writes')
  await page.keyboard.press('Control+Enter')
  await page.locator('.badge.ok', { hasText: 'ready' }).waitFor()
  let app = await inApp(page)
  const context = () => app.evaluate(() => JSON.parse(document.getElementById('context').textContent))
  const is = async (want) => {
    for (let i = 0; ; i++) {
      const got = JSON.stringify(await context())
      if (got.includes(want)) return
      must(i < 100, `the context is ${got}, want ${want}`)
      await page.waitForTimeout(50)
    }
  }
  await is('"containerDimensions":{"width":500,"maxHeight":844}')
  await is('"safeAreaInsets":{"top":47,"right":0,"bottom":34,"left":0}')
  await is('"deviceCapabilities":{"touch":true,"hover":false}')
  await holds(async () => (await page.locator('.app-frame').evaluate((f) => f.getBoundingClientRect().width)) === 500, 'the frame is not 500 px wide')
  // Changes reach the open app.
  await controls.getByLabel('Height').fill('300')
  // What is being typed outlasts the redraw that the change before it causes.
  await controls.getByLabel('Safe area').fill('1 2 3 4')
  await is('"containerDimensions":{"width":500,"maxHeight":300}')
  must((await controls.getByLabel('Safe area').inputValue()) === '1 2 3 4', 'a redraw replaced what was typed')
  await controls.getByLabel('Safe area').blur()
  await controls.getByLabel('Touch').uncheck()
  await controls.getByLabel('Hover').check()
  await is('"containerDimensions":{"width":500,"maxHeight":300}')
  await is('"safeAreaInsets":{"top":1,"right":2,"bottom":3,"left":4}')
  await is('"deviceCapabilities":{"touch":false,"hover":true}')
  await page.waitForURL(/w=500.*ht=300|ht=300.*w=500/)
  // The app declares inline and fullscreen: another mode is refused, and the room stays.
  await controls.getByLabel('Mode').selectOption('pip')
  await page.locator('.problem', { hasText: 'does not support display mode pip' }).waitFor()
  await controls.getByLabel('Mode').selectOption('fullscreen')
  await page.locator('.problem').waitFor({ state: 'detached' })
  await is('"displayMode":"fullscreen"')
  await controls.getByLabel('Mode').selectOption('inline')
  await is('"displayMode":"inline"')
  // A file of the app is offered, and its name has no folder.
  await app.click('#file')
  const offered = page.locator('.app-link', { hasText: 'notes.txt' })
  await offered.waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), offered.getByRole('button', { name: 'Save' }).click()])
  must(download.suggestedFilename() === 'notes.txt', download.suggestedFilename())
  // Accessibility, found in the app and shown beside it.
  await page.getByRole('tab', { name: 'Accessibility' }).click()
  await page.getByRole('button', { name: 'Check the app' }).click()
  await page.locator('#app-panel', { hasText: 'image-alt' }).waitFor({ timeout: 30_000 })
  none(await violations(page), 'the page')
  // Input in parts, step by step, then whole.
  await page.getByRole('tab', { name: 'Input' }).click()
  for (let i = 1; i <= 3; i++) {
    await page.getByRole('button', { name: `Open with a part of it, step ${i}` }).click()
    await page.getByRole('button', { name: `Open with a part of it, step ${i + 1}` }).waitFor()
  }
  app = await inApp(page, app)
  await app.waitForFunction(() => document.getElementById('log').textContent.split('tool-input-partial').length === 4)
  none(await clean())
  await close()
  lab.stop()
})

check('apps: a link calls nothing without a question, and chooses no display mode that the app did not declare', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  const link = `a/show?mode=pip&i=${encodeURIComponent('{"text":"from a link"}')}`
  const { page, clean, close } = await visit(lab, { path: link })
  await ready(page)
  await page.getByRole('button', { name: /^Call and open/ }).click()
  await page.locator('.confirm', { hasText: 'came with a link' }).waitFor()
  must((await total(lab, 'method:tools/call')) === 0, 'a destructive tool was called by a link without a question')
  must((await total(lab, 'method:resources/read')) === 0, 'the app of the tool was opened')
  await page.locator('.confirm .danger').click()
  await page.locator('.badge.ok', { hasText: 'ready' }).waitFor()
  await page.locator('.problem', { hasText: 'does not support display mode pip' }).waitFor()
  const app = await inApp(page)
  const { displayMode } = await app.evaluate(() => JSON.parse(document.getElementById('context').textContent))
  must(displayMode === 'inline', `the app got display mode ${displayMode}`)
  none(await clean())
  await close()
  lab.stop()
})

check('apps: where *.localhost does not resolve, the app is shown at the fallback address', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  const browser = await chromium.launch({
    executablePath: process.env.SLIPWAY_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.localhost ~NOTFOUND'],
  })
  const page = await browser.newPage()
  await page.goto(lab.base + 'a/show#' + lab.token)
  await ready(page)
  await page.getByRole('button', { name: /^Call and open/ }).click()
  await page.locator('.badge', { hasText: 'fallback address' }).waitFor({ timeout: 30_000 })
  await page.locator('.badge.ok', { hasText: 'ready' }).waitFor()
  let shown = ''
  for (let i = 0; i < 200 && !shown.includes('tool-result'); i++) {
    for (const frame of page.frames()) if (frame.url() === 'about:srcdoc') shown = await frame.evaluate(() => document.body.innerText + origin)
    await page.waitForTimeout(50)
  }
  must(shown.includes('tool-result') && shown.endsWith('null'), shown)
  await page.getByRole('tab', { name: 'Accessibility' }).click()
  await page.locator('#app-panel', { hasText: 'Not possible at the fallback address' }).waitFor()
  await browser.close()
  lab.stop()
})

check('apps: two sizes side by side, with one call', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  const { page, clean, close } = await visit(lab, { path: 'a/show?beside=Phone&theme=light&theme2=dark' })
  await ready(page)
  await page.locator('#app-panel input').first().fill('seen twice')
  await page.getByRole('button', { name: /^Call and open/ }).click()
  const contexts = async () => {
    const apps = page.frames().filter((f) => new URL(f.url() || 'about:blank').hostname.startsWith('app-'))
    return Promise.all(apps.map((f) => f.evaluate(() => ({ text: document.body.innerText, context: JSON.parse(document.getElementById('context').textContent || 'null') })).catch(() => ({ text: '' }))))
  }
  const is = async (what, holds) => {
    for (let i = 0; ; i++) {
      const got = await contexts()
      if (holds(got)) return got
      must(i < 200, `${what}: ${JSON.stringify(got)}`)
      await page.waitForTimeout(50)
    }
  }
  const both = await is('both have the result', (all) => all.length === 2 && all.every((a) => a.text.includes('tool-input') && a.text.includes('tool-result') && a.context))
  must(both.every((a) => a.text.includes('"tone":"plain"')), `the default of the schema was not sent: ${both[0].text}`)
  const phone = both.find((a) => a.context.theme === 'dark')
  const other = both.find((a) => a.context.theme === 'light')
  must(phone?.context.containerDimensions.width === 390 && phone.context.deviceCapabilities.touch, JSON.stringify(both))
  must(other?.context.containerDimensions.width !== 390, JSON.stringify(both))
  const boxes = await page.locator('.app-frame').evaluateAll((frames) => frames.map((f) => f.getBoundingClientRect()).map((b) => [b.left, b.right]))
  must(boxes.length === 2 && boxes[1][0] >= boxes[0][1], `the frames are not side by side: ${JSON.stringify(boxes)}`)
  must((await total(lab, 'method:tools/call dir:out')) === 1, 'the tool was not called once')
  // The second one goes, and comes back with what the first one was sent; nothing is called.
  const beside = page.locator('.app-controls').getByLabel(/^Beside/)
  await beside.selectOption('')
  await is('one is left', (all) => all.length === 1)
  await beside.selectOption('Phone')
  await is('it is back', (all) => all.length === 2 && all.every((a) => a.text.includes('tool-result')))
  must((await total(lab, 'method:tools/call dir:out')) === 1, 'the tool was called again')
  none(await violations(page), 'the page')
  await page.getByRole('button', { name: 'Close' }).click()
  await is('both are closed', (all) => all.length === 0)
  none(await clean())
  await close()
  lab.stop()
})

check('apps: controls that change while the app opens reach it', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  const { page, clean, close } = await visit(lab, { path: 'a/show?theme=light' })
  await ready(page)
  // The document arrives late: the controls change before the app is there.
  let release
  const held = new Promise((resolve) => (release = resolve))
  await page.route(/^http:\/\/app-/, async (route) => {
    await held
    await route.continue()
  })
  const controls = page.locator('.app-controls')
  await page.getByRole('button', { name: 'Open only' }).click()
  await page.locator('.badge', { hasText: 'loading the document' }).waitFor()
  await controls.getByLabel(/^Theme/).selectOption('dark')
  await controls.getByLabel('Width').fill('444')
  await controls.getByLabel('Width').blur()
  await page.waitForURL('**w=444*')
  release()
  await page.locator('.badge.ok', { hasText: 'ready' }).waitFor()
  const app = await inApp(page)
  await app.waitForFunction(() => {
    const context = JSON.parse(document.getElementById('context').textContent)
    return context.theme === 'dark' && context.containerDimensions.width === 444
  })
  must(!(await page.locator('.problem').count()), 'the page shows a problem')
  none(await clean())
  await close()
  lab.stop()
})

check('apps: two open apps share no storage, cookie or channel, and neither leaves its origin', async () => {
  const lab = await inspect(['--', testserver, 'app'])
  // The browser reports the navigations that it refuses.
  const { page, requests, clean, close } = await visit(lab, { path: 'a/show?beside=Phone', profile: true, quiet: [/Framing|frame-src|Content Security Policy/] })
  await ready(page)
  await page.getByRole('button', { name: 'Open only' }).click()
  let apps = []
  await holds(
    async () => {
      apps = page.frames().filter((f) => new URL(f.url() || 'about:blank').hostname.startsWith('app-'))
      return apps.length === 2 && (await Promise.all(apps.map((f) => f.evaluate(() => document.getElementById('context')?.textContent.length > 2)))).every(Boolean)
    },
    () => `apps: ${page.frames().map((f) => f.url())}`,
  )
  const origins = new Set(await Promise.all(apps.map((f) => f.evaluate(() => origin))))
  must(apps.length === 2 && origins.size === 2 && !origins.has('null'), `origins: ${[...origins]}`)
  const [one, other] = apps
  for (const app of apps) {
    await app.evaluate(() => {
      window.heard = []
      const channel = (window.channel = new BroadcastChannel('shared'))
      channel.onmessage = (e) => window.heard.push(e.data)
      addEventListener('storage', (e) => window.heard.push(e.key))
    })
  }
  const kept = await one.evaluate(async () => {
    const above = location.hostname.split('.').slice(1).join('.')
    for (const domain of ['', location.hostname, above, 'localhost']) {
      for (const more of ['', '; SameSite=None; Secure', '; SameSite=None; Secure; Partitioned']) {
        document.cookie = `seen=1${more}${domain && `; Domain=${domain}`}`
      }
    }
    window.name = 'seen'
    localStorage.setItem('seen', '1')
    sessionStorage.setItem('seen', '1')
    await new Promise((resolve, reject) => {
      const open = indexedDB.open('seen')
      open.onsuccess = resolve
      open.onerror = reject
    })
    window.channel.postMessage('seen')
    return localStorage.getItem('seen')
  })
  must(kept === '1', 'the app has no storage of its own')
  await page.waitForTimeout(300)
  const seen = await other.evaluate(async () => ({
    cookie: document.cookie,
    name: window.name === 'seen',
    local: localStorage.length,
    session: sessionStorage.length,
    databases: (await indexedDB.databases()).length,
    heard: window.heard,
    frames: [...Array(top.length).keys()].filter((i) => {
      try {
        return top[i][0].document && top[i][0] !== window
      } catch {
        return false
      }
    }),
  }))
  must(JSON.stringify(seen) === '{"cookie":"","name":false,"local":0,"session":0,"databases":0,"heard":[],"frames":[]}', JSON.stringify(seen))
  const page1 = await page.evaluate(() => ({ cookie: document.cookie, local: localStorage.getItem('seen') }))
  must(page1.cookie === '' && page1.local === null, JSON.stringify(page1))
  // An app goes to another site, to the page, and to the other app: it stays where it is, and the page lists the attempts.
  const places = ['http://attacker.example/', lab.base, [...origins][1]]
  for (const place of places) {
    await one.evaluate((url) => setTimeout(() => (location.href = url)), place)
    await page.waitForTimeout(300)
  }
  await page.getByRole('tab', { name: /^Violations/ }).click()
  await page.locator('#app-panel', { hasText: 'frame-src' }).first().waitFor()
  none(requests.filter((r) => r.includes('attacker.example')), 'requests')
  const shown = page.frames().map((f) => f.url()).filter((u) => u.startsWith(lab.base))
  must(shown.length === 1, `the page is inside itself: ${shown}`)
  none(await clean())
  await close()
  lab.stop()
})
