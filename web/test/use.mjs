// Using the page without a pointer, by links, and while Go is away.
import { check, everything, holds, inspect, must, none, ready, testserver, visit } from './lab.mjs'

const inRoom = (room) => document.querySelector('.rail a[aria-current]').getAttribute('title').endsWith(`(g ${room})`)

const focused = (page) =>
  page.evaluate(() => {
    const e = document.activeElement
    const style = getComputedStyle(e)
    return {
      name: e.getAttribute('aria-label') ?? e.textContent.slice(0, 60),
      tag: e.tagName,
      list: e.dataset?.list,
      ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1,
      body: e === document.body,
    }
  })

check('keyboard: start, palette, tool, form, call, result, copy', async () => {
  const lab = await inspect(['--', ...everything])
  const { page, clean, close } = await visit(lab)
  await ready(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('get-sum', { delay: 5 })
  await page.waitForFunction(() => document.querySelector('.palette')?.innerText.includes('get-sum'))
  await page.keyboard.press('Enter')
  await page.waitForURL('**/t/get-sum*')
  await page.locator('.call-bar').waitFor()
  // From the list into the form with the keyboard only: F6 goes to the next region.
  let reached = false
  for (let i = 0; i < 40 && !reached; i++) {
    const at = await focused(page)
    reached = at.tag === 'INPUT' && (await page.evaluate(() => !!document.activeElement.closest('.form-fields')))
    if (!reached) await page.keyboard.press(i % 8 === 7 ? 'F6' : 'Tab')
  }
  must(reached, `the focus does not get into the form: ${JSON.stringify(await focused(page))}`)
  await holds(async () => (await focused(page)).ring, 'the field with the focus is not marked')
  await page.keyboard.type('20')
  for (let i = 0; i < 6; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => document.activeElement.matches('.form-fields input'))) break
  }
  await page.keyboard.type('22')
  await page.keyboard.press('Control+Enter')
  await page.locator('.result .pill.ok').waitFor()
  await page.locator('.result-body', { hasText: '42' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('c')
  await page.locator('[role=menuitem]').first().waitFor()
  for (let i = 0; i < 6; i++) {
    if ((await focused(page)).name.includes('slipway call')) break
    await page.keyboard.press('ArrowDown')
  }
  await page.keyboard.press('Enter')
  // The text that is compared is the one that was found: another read may find the clipboard empty.
  let copied = ''
  await holds(async () => {
    copied = await page.evaluate(() => navigator.clipboard.readText())
    return copied.includes('get-sum')
  }, () => `the clipboard has ${JSON.stringify(copied)}`)
  must(/^slipway call .*get-sum.*20.*22/s.test(copied), copied)
  none(await clean())
  await close()
  lab.stop()
}, { alone: true }) // the clipboard is shared

check('keyboard: Tab goes through each room and out again, and the focus is visible', async () => {
  const lab = await inspect(['--', ...everything])
  const { page, clean, close } = await visit(lab)
  await ready(page)
  for (const room of ['o', 't', 'r', 'p', 'a', 'f', 'h']) {
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press(room)
    await page.waitForFunction(inRoom, room)
    await page.waitForTimeout(150)
    await page.evaluate(() => document.activeElement.blur())
    const seen = new Set()
    let left = false
    for (let i = 0; i < 250 && !left; i++) {
      await page.keyboard.press('Tab')
      const at = await focused(page)
      left = at.body || seen.has('region dock') && (await page.evaluate(() => !!document.activeElement.closest('.skip, .bar')))
      if (at.body) break
      await holds(async () => at.ring || at.tag === 'IFRAME' || (await page.evaluate(() => getComputedStyle(document.activeElement).opacity === '0')), `${room}: no ring on ${at.tag} ${at.name}`)
      if (await page.evaluate(() => !!document.activeElement.closest('.dock'))) seen.add('region dock')
    }
    must(left || seen.has('region dock'), `${room}: Tab does not come out: ${JSON.stringify(await focused(page))}`)
  }
  none(await clean())
  await close()
  lab.stop()
})

check('keyboard: what is typed before the palette is loaded is not lost', async () => {
  const lab = await inspect(['--', ...everything])
  const { page, clean, close } = await visit(lab, { prepare: (page) => page.route('**/more.js', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    await route.continue()
  }) })
  await ready(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('get-sumx')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Enter')
  must((await page.locator('.palette').count()) === 0, 'the palette was loaded too early for this test')
  await page.waitForURL('**/t/get-sum*')
  none(await clean())
  await close()
  lab.stop()
})

check('keyboard: a list is one tab stop, j and k move in it', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 't' })
  await ready(page)
  await page.locator('[data-list=tools] .row').first().waitFor()
  await page.locator('[data-list=tools]').focus()
  await page.keyboard.press('End')
  await page.waitForURL('**/t/delete_issue_999*')
  await page.keyboard.press('k')
  await page.waitForURL('**/t/update_issue_998*')
  const tabs = await page.evaluate(() => document.querySelectorAll('[data-list=tools] [tabindex="0"], [data-list=tools] button').length)
  must(tabs === 0, `${tabs} tab stops in the list`)
  none(await clean())
  await close()
  lab.stop()
})

check('links: a link shows a call and never makes it; back and forward work', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const link = `t/create_issue_12?a=${encodeURIComponent('{"title":"from a link"}')}`
  const { page, clean, close } = await visit(lab, { path: link })
  await ready(page)
  await page.locator('.call-bar').waitFor()
  await page.waitForTimeout(600)
  const answer = await (await lab.api('search?q=method:tools/call')).json()
  must(answer.total === 0, `${answer.total} calls were made by the link`)
  const values = () => page.locator('.form-fields input').evaluateAll((inputs) => inputs.map((i) => i.value))
  await holds(async () => (await values()).includes('from a link'), async () => `the arguments are not shown: ${await values()}`)
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.locator('.confirm', { hasText: 'came with a link' }).waitFor()
  const still = await (await lab.api('search?q=method:tools/call')).json()
  must(still.total === 0, 'a destructive tool was called by a link without a question')
  await page.locator('.confirm .danger').click()
  await page.locator('.result .pill').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.waitForURL('**/o*')
  await page.goBack()
  await page.waitForURL('**/t/create_issue_12*')
  await page.goForward()
  await page.waitForURL('**/o*')
  none(await clean())
  await close()
  lab.stop()
})

check('Go ends: the page says so, and everything stays readable', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, close } = await visit(lab, { path: 't/get_issue_10', quiet: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/] })
  await ready(page)
  await page.locator('[data-list=tools] .row').first().waitFor()
  lab.stop()
  await page.getByText('slipway inspect has ended').waitFor()
  await holds(async () => (await page.locator('[data-list=tools] .row').count()) > 10, 'the tools are gone')
  await close()
})

check('keyboard: a dialog takes the focus at once, and gives it back at once', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 't' })
  await ready(page)
  // The palette comes with the second file.
  await page.waitForFunction(() => performance.getEntriesByType('resource').some((r) => r.name.endsWith('/more.js')))
  await page.waitForTimeout(200)
  await page.locator('[data-list=tools]').focus()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('flood', { delay: 15 })
  await holds(async () => (await page.locator('.palette input').inputValue()) === 'flood', () => page.locator('.palette input').inputValue())
  await page.keyboard.press('Escape')
  await holds(async () => (await focused(page)).list === 'tools', async () => JSON.stringify(await focused(page)))
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.keyboard.type('update', { delay: 15 })
  await holds(async () => (await page.locator('[data-filter]').inputValue()) === 'update', () => page.locator('[data-filter]').inputValue())
  none(await clean())
  await close()
  lab.stop()
})
