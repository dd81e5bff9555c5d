// Results: each kind of content, structured content, and what they cost.
import { readFileSync } from 'node:fs'
import { check, holds, inspect, must, none, ready, testserver, visit } from './lab.mjs'

async function open() {
  const lab = await inspect(['--', testserver, 'zoo'])
  const { page, clean, close } = await visit(lab, { path: 't/show' })
  await ready(page)
  const show = async (kind) => {
    await page.evaluate(() => {
      history.pushState(null, '', '/t/show')
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await page.locator('.field select').first().selectOption({ label: kind })
    const before = await page.locator('.result .figure[href]').innerText().catch(() => '')
    await page.getByRole('button', { name: /^Call/ }).click()
    await page.waitForFunction((was) => (document.querySelector('.result a.figure')?.innerText ?? '') !== was, before)
    await page.locator('.result-body[aria-busy=false] > *').first().waitFor()
  }
  const end = async () => {
    none(await clean())
    await close()
    lab.stop()
  }
  return { lab, page, show, end }
}

// While it is busy, it still shows the result before.
const body = (page) => page.locator('.result-body[aria-busy=false]')

check('results: Markdown is drawn with elements, HTML is text', async () => {
  const { page, show, end } = await open()
  await show('markdown')
  await body(page).locator('.md-h1', { hasText: 'Weekly report' }).waitFor()
  for (const part of ['strong', 'em', 'code', 'table td', 'ol li', 'blockquote', 'pre.snippet', '.task']) {
    await holds(async () => (await body(page).locator(part).count()) > 0, `no ${part}`)
  }
  await holds(async () => (await body(page).locator('td', { hasText: '120' }).evaluate((e) => getComputedStyle(e).textAlign)) === 'right', 'the column is not aligned')
  // A link shows its address before it is opened.
  await body(page).getByRole('button', { name: 'the site' }).click()
  await page.locator('[role=dialog] .address', { hasText: 'https://example.com/report' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Show source' }).click()
  await body(page).getByText('# Weekly report').waitFor()
  await show('html')
  await body(page).getByText('<script>window.owned=1</script>').waitFor()
  await holds(async () => (await page.evaluate(() => window.owned)) === undefined, 'HTML ran')
  await end()
})

check('results: content that is not a list is not taken for a result without content', async () => {
  const { page, show, end } = await open()
  await show('malformed')
  await page.getByText('The result breaks the protocol: content must be an array.').waitFor()
  await show('right')
  await holds(async () => (await page.getByText('breaks the protocol').count()) === 0, 'a right result breaks the protocol')
  await end()
})

check('results: the JSON tree is searched, and copies a path and a value', async () => {
  const { page, show, end } = await open()
  await show('json')
  await body(page).getByText('9007199254740993').waitFor()
  await page.getByRole('searchbox', { name: /^Find in/ }).fill('found')
  const path = page.locator('.tree-bar .path')
  await page.waitForFunction(() => document.querySelector('.tree-bar .path').innerText === '$.deep.a.b.c')
  await path.click()
  await holds(async () => (await page.evaluate(() => navigator.clipboard.readText())) === '$.deep.a.b.c', 'the path was not copied')
  await page.getByRole('button', { name: 'Copy value' }).click()
  await holds(async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'found', 'the value was not copied')
  await page.getByRole('searchbox', { name: /^Find in/ }).fill('nowhere')
  await page.getByText('not found').waitFor()
  await end()
}, { alone: true }) // the clipboard is shared

check('results: images, sounds, links and resources, each with its size', async () => {
  const { page, show, end } = await open()
  await show('image')
  const image = body(page).locator('img')
  await image.waitFor()
  await holds(async () => (await image.evaluate((i) => i.naturalWidth)) === 1, 'the image is not drawn')
  await holds(async () => (await image.evaluate((i) => i.getBoundingClientRect().width)) < 40, 'a small image is blown up')
  await body(page).getByText('70 B').waitFor()
  await show('audio')
  await body(page).locator('audio').waitFor()
  await page.waitForFunction(() => document.querySelector('.result-body audio').duration > 0)
  await show('links')
  for (const part of ['The report of the week', 'text/markdown, 1.2 kB', 'audience user', 'priority 0.9']) {
    await body(page).getByText(part).first().waitFor()
  }
  await show('resources')
  const [download] = await Promise.all([page.waitForEvent('download'), body(page).getByRole('button', { name: 'Save application' }).click()])
  must(download.suggestedFilename() === 'data.zip' && readFileSync(await download.path()).subarray(0, 2).toString() === 'PK', download.suggestedFilename())
  await holds(async () => (await body(page).locator('.content-bar', { hasText: 'tokens' }).count()) === 3, 'a part has no size')
  await show('links')
  await body(page).getByRole('link', { name: 'report' }).click()
  await page.waitForURL('**/r/zoo%3A%2F%2Freport')
  await page.getByRole('button', { name: /^Read/ }).click()
  await body(page).getByText('Weekly report').waitFor()
  await end()
})

check('results: structured content is checked against the output schema', async () => {
  const { lab, page, show, end } = await open()
  await show('right')
  await page.getByRole('tab', { name: 'Structured ✓ schema' }).waitFor()
  await show('wrong')
  await page.getByRole('tab', { name: 'Structured ✗ schema' }).click()
  await body(page).locator('.field-problem', { hasText: '/total' }).waitFor()
  await show('json')
  await page.getByText('has no structuredContent').waitFor()
  await show('table')
  await page.getByRole('tab', { name: /^Structured/ }).click()
  await page.getByRole('button', { name: 'Show as table' }).click()
  await body(page).locator('td', { hasText: 'one, or "first"' }).waitFor()
  await page.getByRole('button', { name: 'Copy as CSV' }).click()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  must(copied === 'id,name\n1,"one, or ""first"""\n2,two', copied)
  // Bytes are the bytes of the message.
  await page.getByRole('tab', { name: 'Bytes' }).click()
  const seq = (await page.locator('.result a.figure').innerText()).slice(1)
  const sent = (await (await lab.api(`frames/${seq}`)).text()).trim()
  const shown = body(page).locator('pre.text')
  await holds(async () => (await shown.innerText()).trim() === sent, () => shown.innerText())
  await show('error')
  await page.locator('.result.error .pill', { hasText: 'tool error' }).waitFor()
  await holds(async () => /\d B/.test(await page.locator('.result-bar').innerText()) && /tokens/.test(await page.locator('.result-bar').innerText()), 'the result has no size')
  await end()
}, { alone: true }) // the clipboard is shared

check('results: the earlier result is dimmed and marked as busy until the next one is there', async () => {
  const lab = await inspect(['--', testserver, 'zoo'])
  const { page, clean, close } = await visit(lab, { path: 't/log' })
  await ready(page)
  const button = page.locator('.call-bar').getByRole('button', { name: /^Call/ })
  await button.click()
  const shown = page.locator('.result-body')
  await shown.filter({ hasText: 'logged' }).waitFor()
  must((await shown.getAttribute('aria-busy')) !== 'true', 'a result that is there is busy')
  await button.click() // it takes a second
  await page.locator('.result-body[aria-busy=true].dimmed').filter({ hasText: 'logged' }).waitFor()
  must((await shown.evaluate((e) => getComputedStyle(e).filter)) !== 'none', 'it does not look different')
  await page.locator('.result-body:not([aria-busy=true]):not(.dimmed)').filter({ hasText: 'logged' }).waitFor()
  none(await clean())
  await close()
  lab.stop()
})
