// Traffic, History, saved calls and comparisons.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, check, connected, everything, examples, holds, inspect, must, none, ready, slipway, temporary, testserver, total, urls, visit } from './lab.mjs'

const rowOf = (page, text) => page.locator('[data-list=traffic] .row', { hasText: text })

check('traffic: one row for a request and its answer; details follow the selection', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  await call(lab, 'get_issue_10', { title: 'Crash on start' })
  await call(lab, 'refuses')
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await rowOf(page, 'get_issue_10').click()
  await page.locator('.details').getByText('Crash on start').waitFor()
  await page.keyboard.press('2')
  await page.getByText('structuredContent').waitFor()
  await page.keyboard.press('4')
  await page.locator('.details pre.text', { hasText: /^\s*\{"jsonrpc":"2.0"/ }).waitFor()
  await page.getByRole('button', { name: 'Show in hex' }).click()
  await page.getByText('00000000  7b 22 6a 73').waitFor()
  await page.keyboard.press('5')
  await page.getByText('JSON-RPC id').waitFor()
  // The tab stays while the selection moves.
  await page.locator('[data-list=traffic]').focus()
  await page.keyboard.press('j')
  await page.getByText('Answered').waitFor()
  must(page.url().includes('tab=timing'), page.url())
  await holds(async () => (await rowOf(page, 'refuses').innerText()).includes('n is out of range'), 'the error is not in its row')
  await holds(async () => (await rowOf(page, 'tools/call').count()) === 2, 'a request and its answer are two rows')
  none(await clean())
  await close()
  lab.stop()
})

check('traffic: the filter runs in Go, and says what is wrong with it', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  for (let i = 0; i < 3; i++) await call(lab, 'get_issue_10', { title: `number ${i}` })
  await call(lab, 'fails')
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await page.locator('[data-list=traffic] .row').first().waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('name:get_issue_* -"number 1"')
  await page.waitForFunction(() => document.querySelectorAll('[data-list=traffic] .row').length === 2)
  const expected = await total(lab, 'name:get_issue_* -"number 1"')
  await holds(async () => (await page.locator('[data-shown]').innerText()).startsWith(String(expected)), () => page.locator('[data-shown]').innerText())
  // Calls keep their time and outcome when the filter finds only their requests.
  const finished = async () => {
    const rows = await page.locator('[data-list=traffic] .row').evaluateAll((list) =>
      list.map((r) => [r.querySelector('.c-took').textContent, r.querySelector('.c-sign').textContent, r.innerText.includes('tool error')]),
    )
    return JSON.stringify(rows.map(([took, sign, failed]) => [/^[\d.]+$/.test(took), sign, failed]))
  }
  await page.locator('[data-filter]').fill('method:tools/call kind:request')
  const wanted = JSON.stringify([[true, '▸◂', false], [true, '▸◂', false], [true, '▸◂', false], [true, '▸◂', true]])
  await holds(async () => (await finished()) === wanted, finished)
  await page.locator('[data-filter]').fill('is:error')
  await rowOf(page, 'fails').waitFor()
  await page.waitForFunction(() => document.querySelectorAll('[data-list=traffic] .row').length === 1)
  // A new call appears while the filter is on.
  await call(lab, 'fails')
  await page.waitForFunction(() => document.querySelectorAll('[data-list=traffic] .row').length === 2)
  await page.locator('[data-filter]').fill('is:nonsense')
  await page.locator('#filter-problem').waitFor()
  await page.locator('[data-filter]').fill('nothing-has-this-word')
  await page.getByText('No frame matches').waitFor()
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await rowOf(page, 'initialize').first().waitFor()
  none(await clean())
  await close()
  lab.stop()
})

check('traffic: what is typed while the address changes stays', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await page.locator('[data-list=traffic] .row').first().waitFor()
  const shown = await page.evaluate(() => new Promise((resolve) => {
    const field = document.querySelector('[data-filter]')
    const type = (text) => {
      field.value = text
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }
    // The next letter comes right after the address has changed, before the page is drawn again.
    for (const name of ['pushState', 'replaceState']) {
      const change = history[name].bind(history)
      history[name] = (...args) => {
        change(...args)
        history[name] = change
        type('kind:request')
        setTimeout(() => resolve(field.value), 80)
      }
    }
    type('kind:re')
  }))
  must(shown === 'kind:request', `the field shows ${shown}`)
  await page.waitForURL('**/f?q=kind%3Arequest*')
  none(await clean())
  await close()
  lab.stop()
})

check('a source that connects while the page opens is not missed', async () => {
  const lab = await inspect(['--', 'sh', '-c', 'sleep 3; exec "$0" "$@"', testserver, 'large'])
  const { page, clean, close } = await visit(lab, {
    prepare: (page) => page.route('**/api/stream*', async (route) => {
      await connected(lab)
      await route.continue()
    }),
  })
  await ready(page)
  none(await clean())
  await close()
  lab.stop()
})

check('traffic: replay, edit and replay, compare, copy', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  await call(lab, 'create_issue_12', { title: 'first' })
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await rowOf(page, 'create_issue_12').click()
  await page.locator('.details .row').first().waitFor()
  await page.keyboard.press('m')
  await page.keyboard.press('r')
  // Replaying what may destroy something asks.
  await page.locator('.confirm').waitFor()
  await holds(async () => (await total(lab, 'method:tools/call kind:request')) <= 2, 'it was replayed without a question')
  await page.locator('.confirm').getByRole('button', { name: 'Call again' }).click()
  await page.waitForFunction(() => document.querySelectorAll('[data-list=traffic] .row.selected, [data-list=traffic] .row[aria-selected=true]').length === 1 && /at=\d+/.test(location.search))
  await page.waitForFunction(() => [...document.querySelectorAll('[data-list=traffic] .row')].filter((r) => r.innerText.includes('create_issue_12')).length === 2)
  await page.keyboard.press('e')
  const area = page.locator('.replay-edit textarea')
  await area.waitFor()
  await holds(async () => (await area.inputValue()).includes('"title": "first"') && !(await area.inputValue()).includes('_meta'), () => area.inputValue())
  await area.fill((await area.inputValue()).replace('first', 'second 9007199254740993'))
  await page.keyboard.press('Control+Enter')
  await page.locator('.confirm').getByRole('button', { name: 'Call again' }).click()
  await page.waitForFunction(() => [...document.querySelectorAll('[data-list=traffic] .row')].filter((r) => r.innerText.includes('create_issue_12')).length === 3)
  await holds(async () => (await total(lab, '"second 9007199254740993"')) >= 1, 'what was edited was not sent')
  // The details move on to the new exchange.
  const last = await page.waitForFunction(() => [...document.querySelectorAll('[data-list=traffic] .row')].filter((r) => r.innerText.includes('create_issue_12')).at(-1).innerText.match(/\d+/)[0])
  await page.waitForURL(`**at=${await last.jsonValue()}*`)
  await page.waitForFunction(() => document.querySelector('.replay-edit') === null)
  await page.keyboard.press('c')
  await page.locator('.diff').first().waitFor()
  await holds(async () => (await page.locator('.compared').innerText()).includes('/params/arguments/title'), () => page.locator('.compared').innerText())
  await page.keyboard.press('c')
  for (const [label, pattern] of [['slipway call', /^slipway call .*create_issue_12/s], ['Go test', /func TestCreateIssue12/], ['JSON-RPC frame', /^{"jsonrpc"/]]) {
    await page.getByRole('button', { name: 'Copy as' }).click()
    await page.getByRole('menuitem', { name: label, exact: true }).click()
    await page.waitForFunction(async (source) => new RegExp(source, 's').test(await navigator.clipboard.readText()), pattern.source)
  }
  none(await clean())
  await close()
  lab.stop()
}, { alone: true }) // the clipboard is shared

check('traffic: pause, clear, save a recording and open it again', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await rowOf(page, 'tools/list').first().waitFor()
  await page.keyboard.press('p')
  await call(lab, 'get_issue_10', { title: 'while paused' })
  await page.getByRole('button', { name: /Resume, \d+ new/ }).waitFor()
  await holds(async () => (await rowOf(page, 'get_issue_10').count()) === 0, 'the list moved while it was paused')
  await page.keyboard.press('p')
  await rowOf(page, 'get_issue_10').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await page.getByText('No frame yet').waitFor()
  await page.getByRole('button', { name: 'Show all again' }).click()
  await rowOf(page, 'get_issue_10').waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save recording' }).click()])
  const file = join(temporary, 'saved.mcplog')
  await download.saveAs(file)
  must(readFileSync(file, 'utf8').startsWith('{"mcplog":1'), 'the recording has another format')
  await page.locator('input[type=file]').setInputFiles(file)
  await page.waitForFunction(() => document.querySelectorAll('.chip').length === 2)
  await page.waitForFunction(() => /recording/.test(decodeURIComponent(location.search)))
  // The recording has an address of its own.
  const filtered = new URL(page.url()).searchParams.get('q')
  const name = /^@"(.*)"$/.exec(filtered)[1]
  await page.evaluate((n) => {
    history.pushState(null, '', `/f?file=${encodeURIComponent(n)}`)
    dispatchEvent(new PopStateEvent('popstate'))
  }, name)
  await page.waitForFunction((q) => new URLSearchParams(location.search).get('q') === q && !location.search.includes('file='), filtered)
  await rowOf(page, 'get_issue_10').first().waitFor()
  await page.locator('input[type=file]').setInputFiles({ name: 'x.mcplog', mimeType: 'text/plain', buffer: Buffer.from('no recording') })
  await page.locator('.traffic-note.error-text').waitFor()
  none((await clean()).filter((r) => !r.includes('400')))
  await close()
  lab.stop()
})

check('the dock: recent exchanges in every room, Ctrl+J opens it', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab, { path: 't' })
  await ready(page)
  await page.keyboard.press('Control+j')
  await page.locator('[data-list=dock] .row').first().waitFor()
  await page.locator('.dock-items a', { hasText: 'initialize' }).click()
  await page.waitForURL('**/f?at=*')
  await holds(async () => (await page.locator('[data-list=dock]').count()) === 0, 'the dock repeats the room Traffic')
  none(await clean())
  await close()
  lab.stop()
})

check('history: calls of the session, saved calls, expectations, run all', async () => {
  const file = join(temporary, 'api.calls.json')
  const lab = await inspect(['--', testserver, 'large'], { flags: ['--calls', file] })
  await call(lab, 'get_issue_10', { title: 'Crash on start' })
  await call(lab, 'fails')
  const { page, clean, close } = await visit(lab, { path: 'h' })
  const row = (list, text) => page.locator(`[data-list=${list}] .row`, { hasText: text })
  // A call that is running, and one that was cancelled.
  await page.evaluate(() => {
    history.pushState(null, '', '/t/hang')
    dispatchEvent(new PopStateEvent('popstate'))
  })
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.locator('.result [data-cancel]').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await row('calls', 'hang').getByText('running').waitFor()
  await page.goBack()
  await page.locator('.result [data-cancel]').click()
  await page.locator('.result .pill', { hasText: 'cancelled' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await row('calls', 'hang').getByText('cancelled').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await row('traffic', 'hang').getByText('cancelled').waitFor()
  must(!(await row('traffic', 'hang').innerText()).includes('(open)'), 'the cancelled call is shown as open')
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await row('calls', 'get_issue_10').click()
  await page.getByText('"Crash on start"').first().waitFor()
  await page.locator('.result .pill.ok').waitFor()
  await page.keyboard.press('s')
  await row('saved', 'get_issue_10').waitFor()
  must(JSON.parse(readFileSync(file, 'utf8')).calls[0].params.arguments.title === 'Crash on start', 'the file has other arguments')
  await page.getByRole('button', { name: 'Remove', exact: true }).waitFor()
  await page.keyboard.press('Control+Enter') // as an empty result says
  await page.locator('[data-verdict]').getByText('1 passed').waitFor()
  await page.getByText('Expect values of this answer').click()
  await page.getByRole('button', { name: 'Expect /structuredContent/id' }).click()
  await page.waitForFunction(() => document.querySelector('.expectations ul').innerText.includes('/structuredContent/id'))
  await page.getByRole('textbox', { name: 'JSON Pointer' }).fill('/structuredContent/state')
  await page.getByRole('textbox', { name: 'Expected value' }).fill('"closed"')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.waitForFunction(() => document.querySelector('.expectations ul').innerText.includes('closed'))
  // Another program changes the file; nothing of it is lost.
  const text = JSON.parse(readFileSync(file, 'utf8'))
  text.note = 'kept'
  text.calls[0].owner = 'kept, too'
  text.calls.push({ name: 'fails', method: 'tools/call', params: { name: 'fails', arguments: {} }, expect: [{ isError: true }] })
  text.calls.push({ name: 'refuses', method: 'tools/call', params: { name: 'refuses', arguments: {} }, expect: [{ error: -32602 }] })
  writeFileSync(file, JSON.stringify(text))
  await page.getByRole('button', { name: 'Star', exact: false }).first().click()
  await row('saved', 'refuses').waitFor()
  await page.keyboard.press('Shift+R')
  await page.locator('[data-verdict]').getByText('2 passed, 1 failed').waitFor()
  await holds(async () => (await page.locator('[data-fault]').innerText()).includes('the value at /structuredContent/state is "open", want "closed"'), () => page.locator('[data-fault]').innerText())
  await page.waitForFunction(() => /Starred/.test(document.querySelector('.history-work').innerText))
  const after = JSON.parse(readFileSync(file, 'utf8'))
  must(after.note === 'kept' && after.calls[0].owner === 'kept, too' && after.calls[0].star === true, JSON.stringify(after))
  must(after.calls[0].expect.length === 2 && after.calls.length === 3, JSON.stringify(after))
  // An expectation that slipway test would refuse is not written to the file.
  for (const [pointer, does, value, mistake] of [
    ['structuredContent', 'equals', '1', 'is not a JSON pointer'],
    ['', 'matches', '([', 'invalid regular expression'],
    ['', 'below', 'soon', 'must be a duration'],
    ['/structuredContent', 'equals', '', '“” is not JSON'],
    ['/structuredContent', 'equals', 'open', 'is not JSON'],
  ]) {
    await page.getByRole('textbox', { name: 'JSON Pointer' }).fill(pointer)
    await page.getByLabel('Comparison').selectOption(does)
    await page.getByRole('textbox', { name: 'Expected value' }).fill(value)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('.expectations .actions .error-text', { hasText: mistake }).waitFor()
  }
  must(JSON.parse(readFileSync(file, 'utf8')).calls[0].expect.length === 2, 'an expectation with a mistake was written')
  await page.getByRole('textbox', { name: 'JSON Pointer' }).fill('')
  // An expectation is edited where it stands; one that the page does not know is kept and reported.
  after.calls[0].expect.push({ sounds: 'good' })
  writeFileSync(file, JSON.stringify(after))
  await page.getByRole('button', { name: 'Starred' }).click()
  await page.locator('.expectations li', { hasText: 'unknown' }).waitFor()
  await page.getByRole('button', { name: 'Edit expectation 2' }).click()
  await page.getByLabel('Comparison').selectOption('matches')
  await page.getByRole('textbox', { name: 'Expected value' }).fill('^open$')
  await page.getByRole('button', { name: 'Replace', exact: true }).click()
  await page.locator('.expectations li', { hasText: '^open$' }).waitFor()
  const edited = JSON.parse(readFileSync(file, 'utf8')).calls[0].expect
  must(JSON.stringify(edited.slice(1)) === '[{"pointer":"/structuredContent/state","matches":"^open$"},{"sounds":"good"}]', JSON.stringify(edited))
  await page.keyboard.press('Escape')
  await page.locator('.history-work .actions .primary').click()
  await page.locator('[data-fault]', { hasText: 'there is no "sounds" here' }).waitFor()
  await page.getByRole('button', { name: 'Remove expectation 3' }).click()
  await page.waitForFunction(() => !document.querySelector('.expectations ul').innerText.includes('sounds'))
  await page.locator('.history-work .actions .primary').click()
  await page.locator('[data-verdict]').getByText('3 passed').waitFor()
  none((await clean()).filter((r) => !r.includes('412')))
  await close()
  lab.stop()
})

check('history: run all asks before calls that may destroy something; without a file it is a download', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  await call(lab, 'delete_issue_999', { title: 'remove it' })
  const { page, clean, close } = await visit(lab, { path: 'h' })
  await page.locator('[data-list=calls] .row').first().click()
  await page.locator('.result .pill').waitFor()
  await page.keyboard.press('s')
  await page.locator('[data-list=saved] .row', { hasText: 'delete_issue_999' }).waitFor()
  await page.keyboard.press('Shift+R')
  await page.locator('.confirm').waitFor()
  await holds(async () => (await total(lab, 'name:delete_issue_999 dir:out')) <= 2, 'it was called without a question')
  await page.locator('.confirm').getByRole('button', { name: 'Run all' }).click()
  await page.locator('[data-verdict]').getByText('1 passed').waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()])
  const file = join(temporary, 'download.json')
  await download.saveAs(file)
  must(JSON.parse(readFileSync(file, 'utf8')).calls.length === 1, 'the download has no call')
  must(!existsSync(join(lab.home, 'slipway.calls.json')), 'a file was written without being named')
  none(await clean())
  await close()
  lab.stop()
})

check('compare: the same call on two sources', async () => {
  const old = join(examples, 'http-reference')
  const lab = await inspect([old, join(examples, 'http-reference')])
  await connected(lab)
  const { page, clean, close } = await visit(lab, { path: 'cmp' })
  await ready(page, 2)
  await page.getByRole('button', { name: /Call both/ }).waitFor()
  await page.getByRole('combobox', { name: 'Tool' }).waitFor()
  await page.getByRole('button', { name: /Call both/ }).click()
  await page.waitForFunction(() => document.querySelectorAll('.compare-sides .result .pill').length === 2)
  await page.locator('.diff, .ok-text').first().waitFor()
  none(await clean())
  await close()
  lab.stop()
})

check('compare: a tool that only one source has', async () => {
  const lab = await inspect([join(examples, 'handbook'), join(examples, 'http-reference')])
  await connected(lab)
  const { page, clean, close } = await visit(lab, { path: 'cmp?t=get_status' })
  await ready(page, 2)
  await page.locator('[id="f/code"]').fill('404')
  await page.getByRole('button', { name: /Call both/ }).click()
  // The other source says nothing of the tool, so it may be destructive there.
  await page.locator('.confirm').getByRole('button', { name: 'Call both' }).click()
  await page.waitForFunction(() => document.querySelectorAll('.compare-sides .result .pill').length === 2)
  await holds(async () => /404/.test(await page.locator('.compare-sides').innerText()), () => page.locator('.compare-sides').innerText())
  none(await clean())
  await close()
  lab.stop()
})

check('apps: a server with tools but no app says that its tools have no user interface', async () => {
  const lab = await inspect([join(examples, 'http-reference')])
  const { page, clean, close } = await visit(lab, { path: 'a' })
  await ready(page)
  await page.locator('main').getByText('This server offers no apps.').waitFor()
  await page.locator('main').getByText('None of the tools of http-reference has a user interface (_meta.ui.resourceUri).').waitFor()
  must(!/list is empty/.test(await page.locator('main').innerText()), 'the page says that the list of tools is empty')
  none(await clean())
  await close()
  lab.stop()
})

check('everything: each room of a real server', async () => {
  const lab = await inspect(['--', ...everything])
  const { page, clean, close } = await visit(lab)
  await ready(page)
  for (const room of ['o', 't', 'r', 'p', 'a', 'f', 'h']) {
    await page.keyboard.press('g')
    await page.keyboard.press(room)
    await page.waitForFunction((r) => document.querySelector('.rail a[aria-current]').getAttribute('title').endsWith(`(g ${r})`), room)
    await page.waitForTimeout(300)
    await holds(async () => (await page.locator('main .room').innerText()).length > 20, `${room} is empty`)
  }
  none(await clean())
  await close()
  lab.stop()
})

check('saved calls: the page and slipway test agree', async () => {
  const { execFileSync } = await import('node:child_process')
  const file = join(temporary, 'both.calls.json')
  const source = join(examples, 'http-reference')
  const calls = JSON.parse(readFileSync(join(examples, 'calls/http.calls.json'), 'utf8')).calls
  const expect = (name, ...list) => calls.push({ name, method: 'tools/call', params: { name: 'get_status', arguments: { code: 404 } }, expect: list })
  expect('wrong text', { pointer: '/content/0/text', contains: 'Teapot' })
  expect('wrong number', { pointer: '/content/0/type', equals: 1 })
  expect('right value', { pointer: '/content/0/type', equals: 'text' })
  expect('must not exist', { pointer: '/content', exists: false })
  expect('a pattern', { pointer: '/content/0/text', matches: '^# 4\\d\\d' })
  expect('another pattern', { pointer: '/content/0/text', matches: '^5' })
  expect('a schema', { pointer: '/content/0', schema: { required: ['text'] } })
  expect('a wrong schema', { pointer: '/content/0', schema: { required: ['colour'] } })
  expect('too slow', { below: '1ns' })
  expect('an error is missing', { error: -32602 })
  expect('no tool error', { isError: true })
  writeFileSync(file, JSON.stringify({ calls }))
  let printed
  try {
    printed = execFileSync(slipway, ['test', file, source], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    printed = error.stdout
  }
  const lab = await inspect([source], { flags: ['--calls', file] })
  const { page, clean, close } = await visit(lab, { path: 'h' })
  await ready(page)
  await page.locator('[data-list=saved] .row').first().waitFor()
  await page.keyboard.press('Shift+R')
  const confirm = page.locator('.confirm').getByRole('button', { name: 'Run all' })
  await confirm.click({ timeout: 2000 }).catch(() => undefined)
  await page.waitForFunction((n) => (document.querySelector('[data-verdict]')?.innerText.match(/\d+/g) ?? []).reduce((a, b) => a + Number(b), 0) === n, calls.length)
  for (const { name } of calls) {
    const row = page.locator('[data-list=saved] .row', { hasText: name }).first()
    const passes = new RegExp(`^ok +${name}`, 'm').test(printed)
    await holds(
      async () => /pass/.test(await row.innerText()) === passes,
      async () => `${name}: the page says ${(await row.innerText()).slice(-6).trim()}, slipway test ${passes ? 'ok' : 'not ok'}:\n${printed}`,
    )
  }
  none(await clean())
  await close()
  lab.stop()
})

check('traffic: HTTP headers are shown, and no token is', async () => {
  const secret = 'secret-token-7c1d9e0f'
  const lab = await inspect([`${await urls()}/mcp`], { env: { MCP_CLIENT_TOKEN: secret } })
  await call(lab, 'get_issue_10', { title: 'over HTTP' })
  const { page, clean, close } = await visit(lab, { path: 'f' })
  await rowOf(page, 'get_issue_10').click()
  await page.locator('.details .row').first().waitFor()
  await page.keyboard.press('3')
  const heads = page.locator('.details .head')
  await heads.nth(1).waitFor()
  const details = async () => (await page.locator('.details').innerText()).toLowerCase()
  const isWhole = (text) => ['post http', 'authorization', 'text/event-stream'].every((part) => text.includes(part))
  await holds(async () => isWhole(await details()), details)
  const text = await details()
  await page.keyboard.press('5')
  await page.getByText('HTTP status').waitFor()
  await page.locator('.details').getByText(/^(new|used before), to 127\.0\.0\.1:\d+$/).waitFor()
  await page.getByLabel('HTTP and steps').check()
  await rowOf(page, 'POST http').first().waitFor()
  await page.getByRole('button', { name: 'Copy as' }).click()
  await page.getByRole('menuitem', { name: 'curl', exact: true }).click()
  let copied = '' // which an earlier copy may still replace
  await holds(async () => {
    copied = await page.evaluate(() => navigator.clipboard.readText())
    return copied.startsWith('curl ') && copied.includes('get_issue_10')
  }, () => copied)
  const seen = [text, await page.content(), copied, await (await lab.api('record')).text(), await (await lab.api('state')).text()]
  must(!seen.some((s) => s.includes(secret)), 'the token is shown')
  must(seen[2].includes('$MCP_CLIENT_TOKEN'), seen[2])
  none(await clean())
  await close()
  lab.stop()
}, { alone: true }) // the clipboard is shared
