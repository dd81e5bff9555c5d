// Takes the pictures of the site for the README and for a look at a change.
//
// usage: node look.mjs SITE OUT [png]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { launch, serve } from './browser.mjs'

const [site, out, format = 'jpg'] = process.argv.slice(2)
const encoding = format === 'png' ? {} : { type: 'jpeg', quality: 80 }
const views = [
  { name: 'landing-light', path: '', width: 1360, height: 900, full: true },
  { name: 'landing-dark', path: '', width: 1360, height: 900, full: true, dark: true },
  { name: 'landing-mobile', path: '', width: 390, height: 844, full: true },
  { name: 'guide-light', path: 'docs/publish', width: 1360, height: 900 },
  { name: 'guide-dark', path: 'docs/tutorial', width: 1360, height: 900, dark: true },
  { name: 'guide-mobile', path: 'docs/getting-started', width: 390, height: 844, dark: true },
  { name: 'architecture', path: 'architecture', width: 1360, height: 1400 },
  { name: 'search', path: 'docs/publish', width: 1360, height: 900, search: 'rate limit' }
]

mkdirSync(out, { recursive: true })
const server = await serve(site)
const browser = await launch()
for (const view of views) {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    deviceScaleFactor: 1
  })
  const page = await context.newPage()
  await page.goto(server.url + view.path, { waitUntil: 'networkidle' })
  if (view.search) {
    await page.keyboard.press('Control+k')
    await page.locator('#localsearch-input').fill(view.search)
    await page.locator('.VPLocalSearchBox .result').first().waitFor()
    await page.waitForTimeout(500)
  }
  if (!view.path) await page.waitForTimeout(9500) // the recording plays to its end
  await page.screenshot({ path: join(out, `${view.name}.${format}`), ...encoding, fullPage: view.full })
  await context.close()
}
await browser.close()
server.close()
