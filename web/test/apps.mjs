// The room Apps with the app of examples/weather.
import { check, inspect, must, none, ready, visit } from './lab.mjs'

const weather = process.env.SLIPWAY_WEATHER ?? 'weather'

// inApp returns the frame of the app inside the frame that keeps it apart.
async function inApp(page, before) {
  for (let i = 0; i < 200; i++) {
    for (const frame of page.frames()) {
      if (frame !== before && new URL(frame.url() || 'about:blank').hostname.startsWith('app-')) return frame
    }
    await page.waitForTimeout(50)
  }
  throw new Error(`no app among ${page.frames().map((f) => f.url())}`)
}

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
  // The app declares no display mode but inline: another one is refused, and the room stays.
  await page.locator('.app-controls').getByLabel('Mode').selectOption('fullscreen')
  await page.locator('.problem', { hasText: 'does not support display mode fullscreen' }).waitFor()
  await page.locator('.app-controls').getByLabel('Theme').selectOption('light')
  await page.locator('.app-controls').getByLabel('Mode').selectOption('inline')
  await page.locator('.problem').waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: /^Policy/ }).click()
  await page.locator('#app-panel', { hasText: 'Content-Security-Policy' }).waitFor()
  // An edited result reaches the app.
  await page.getByRole('tab', { name: 'Result' }).click()
  const text = await page.locator('#app-panel textarea').inputValue()
  must(text.includes('content'), text)
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
