// Opens pages of every type in Chromium, in light and dark, on a desktop and a phone: axe-core
// finds no violation, nothing is printed on the console, no request fails or leaves this machine,
// search finds a page, and without JavaScript the text is still there.
//
// usage: node pages.mjs SITE
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { launch, serve } from './browser.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const types = ['', 'docs/publish', 'docs/cli', 'docs/reference/rules', 'docs/decisions/', 'docs/decisions/0009-sessions',
  'docs/clients/cursor', 'docs/', 'architecture', 'changelog/unreleased', 'missing-page']

const problems = []
const server = await serve(process.argv[2])
const browser = await launch()

/** open loads a page in a context of its own and records what goes wrong. */
async function open(path, options) {
  // axe is injected from outside of the page, which the policy of the page would not allow.
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const report = (text) => problems.push(`/${path} (${options.colorScheme ?? 'light'}): ${text}`)
  page.on('console', (message) => {
    if (path === 'missing-page' && message.text().includes('404')) return
    if (['error', 'warning'].includes(message.type())) report(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => report(`error: ${error.message}`))
  page.on('requestfailed', (request) => {
    // Without JavaScript, Chromium refuses the scripts by the policy.
    if (options.javaScriptEnabled !== false) report(`failed: ${request.url()} ${request.failure()?.errorText}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) report(`foreign: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400 && path !== 'missing-page') report(`${response.status()}: ${response.url()}`)
  })
  await page.goto(server.url + path, { waitUntil: 'networkidle' })
  return { page, report, close: () => context.close() }
}

async function violations(page, report) {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations)
  for (const v of found) report(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`)
}

let checked = 0
for (const path of types) {
  for (const options of [
    { colorScheme: 'light', viewport: { width: 1360, height: 900 } },
    { colorScheme: 'dark', viewport: { width: 390, height: 844 } }
  ]) {
    const { page, report, close } = await open(path, options)
    await violations(page, report)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (wide > 0) report(`scrolls sideways by ${wide} px at ${options.viewport.width} px`)
    checked++
    await close()
  }
}

// Moving from page to page uses code that the first page does not.
{
  const { page, report, close } = await open('', { colorScheme: 'dark', viewport: { width: 1360, height: 900 } })
  await page.getByRole('link', { name: 'Get started' }).click()
  await page.waitForURL('**/docs/getting-started')
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('bearer tokens')
  await page.locator('.VPLocalSearchBox .result').first().waitFor()
  const titles = await page.locator('.VPLocalSearchBox .result').allInnerTexts()
  if (!titles.slice(0, 3).some((t) => t.includes('Authentication'))) report(`search for bearer tokens: ${titles[0]}`)
  await violations(page, report)
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => !url.pathname.endsWith('getting-started'))
  await close()
  checked++
}

// Without JavaScript.
for (const path of ['', 'docs/publish']) {
  const { page, report, close } = await open(path, { javaScriptEnabled: false })
  const text = await page.locator('main').innerText()
  if (text.length < 1500) report(`only ${text.length} characters without JavaScript`)
  await close()
  checked++
}

await browser.close()
server.close()
console.log(`${checked} views`)
for (const problem of [...new Set(problems)].slice(0, 40)) console.log(`  ${problem}`)
process.exit(problems.length ? 1 : 0)
