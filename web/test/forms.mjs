// Forms: what a field shows is what is sent, byte for byte.
import { check, holds, inspect, must, none, ready, testserver, visit } from './lab.mjs'

const link = (args, more = '') => `t/echo_fields?a=${encodeURIComponent(args)}${more}`

/** sent calls the tool, and returns the arguments of the request as they crossed the connection. */
async function sent(lab, page, button = /^Call/) {
  const before = await calls(lab)
  await page.getByRole('button', { name: button }).click()
  for (let i = 0; i < 100; i++) {
    const now = await calls(lab)
    if (now.length > before.length) {
      const text = await (await lab.api(`frames/${now.at(-1).seq}`)).text()
      return /"arguments":(.*?)(,"_meta"|,"name"|\}\}$|\},"jsonrpc"|\}$)/s.exec(text)?.[1] ?? text
    }
    await page.waitForTimeout(50)
  }
  throw new Error(`nothing was sent: ${await page.locator('.call-pane').innerText()}`)
}

const calls = async (lab) => (await (await lab.api('search?limit=500&q=method:tools/call kind:request dir:out')).json()).frames

const field = (page, pointer) => page.locator(`[id="f${pointer}"]`)
const state = (page, name) => page.getByRole('combobox', { name: `State of ${name}`, exact: true })
const json = async (page) => {
  await page.getByRole('tab', { name: 'JSON' }).first().click()
  return page.getByRole('textbox', { name: 'Arguments of echo_fields' })
}

const least = '{"name":"ab","pet":{"kind":"cat","meows":true}}'

async function open(path) {
  const lab = await inspect(['--', testserver, 'zoo'])
  const { page, clean, close } = await visit(lab, { path, viewport: { width: 1280, height: 2600 } })
  await ready(page)
  await page.locator('.call-bar').waitFor()
  const end = async () => {
    none(await clean())
    await close()
    lab.stop()
  }
  return { lab, page, end }
}

check('forms: absent, null and empty are three things', async () => {
  const { lab, page, end } = await open(link(least))
  must((await sent(lab, page)) === least, 'absent fields were sent')
  await state(page, 'note').selectOption('null')
  must((await sent(lab, page)).includes('"note":null'), 'null was not sent')
  await state(page, 'note').selectOption('empty')
  must((await sent(lab, page)).includes('"note":""'), 'the empty string was not sent')
  await field(page, '/note').fill('text')
  must((await sent(lab, page)).includes('"note":"text"'), 'the text was not sent')
  await field(page, '/note').fill('')
  must((await sent(lab, page)).includes('"note":""'), 'a text that was deleted is absent')
  await state(page, 'note').selectOption('absent')
  must(!(await sent(lab, page)).includes('note'), 'an absent field was sent')
  await state(page, 'level').selectOption('null')
  must((await sent(lab, page)).includes('"level":null'), 'the null of an enum was not sent')
  await page.getByRole('button', { name: 'Add scores' }).click()
  must((await sent(lab, page)).includes('"scores":{}'), 'the empty map was not sent')
  await page.getByRole('button', { name: 'Add rows' }).click()
  must((await sent(lab, page)).includes('"rows":[]'), 'the empty array was not sent')
  await end()
})

check('forms: choices, maps, tuples, recursion and other names', async () => {
  const { lab, page, end } = await open('t/echo_fields')
  await field(page, '/name').fill('ab')
  await page.getByRole('button', { name: 'Add pet' }).click()
  await page.getByRole('combobox', { name: 'Kind of pet' }).selectOption({ label: 'Dog' })
  await field(page, '/pet/barks').fill('3')
  await page.getByRole('button', { name: 'Add size' }).click()
  await page.getByRole('combobox', { name: 'Kind of size' }).selectOption({ index: 1 })
  await page.locator('[id="f/size-branch"]').fill('12 cm')
  await page.getByRole('button', { name: 'Add scores' }).click()
  await page.getByRole('button', { name: 'Add an entry' }).click()
  await page.keyboard.type('first')
  await page.keyboard.press('Enter')
  await field(page, '/scores/first').fill('1.50')
  await page.getByRole('button', { name: 'Add point' }).click()
  await field(page, '/point/0').fill('1')
  await field(page, '/point/1').fill('-2e3')
  const items = page.getByRole('group', { name: /^point/ }).getByRole('button', { name: 'Add an item' })
  await holds(async () => (await items.count()) === 0, 'a full tuple takes another item')
  await page.getByRole('button', { name: 'Add tree' }).click()
  await field(page, '/tree/value').fill('root')
  await page.getByRole('button', { name: 'Add children' }).click()
  const tree = page.getByRole('group', { name: /^tree/ })
  await tree.getByRole('button', { name: 'Add an item' }).first().click()
  await field(page, '/tree/children/0/value').fill('leaf')
  await tree.getByRole('button', { name: 'Add children' }).click()
  await page.getByRole('button', { name: 'Add both' }).click()
  await field(page, '/both/a').fill('of the first')
  await field(page, '/both/b').fill('2')
  await page.getByRole('button', { name: 'Add tags' }).click()
  await page.getByRole('checkbox', { name: 'green' }).check()
  await page.locator('.form-fields > .members > .adder').click()
  await page.keyboard.type('other')
  await page.keyboard.press('Enter')
  await field(page, '/other').fill('[1, {"a": null}]')
  const text = await sent(lab, page)
  const expected =
    '{"name":"ab","pet":{"kind":"dog","barks":3},"size":"12 cm","scores":{"first":1.50},"point":[1,-2e3],' +
    '"tree":{"value":"root","children":[{"value":"leaf","children":[]}]},"tags":["green"],' +
    '"both":{"a":"of the first","b":2},"other":[1,{"a":null}]}'
  must(text === expected, `sent ${text}, want ${expected}`)
  await end()
})

check('forms: every digit of a number is sent, and a file as base64', async () => {
  const { lab, page, end } = await open(link(least))
  await field(page, '/serial').fill('9223372036854775807')
  await field(page, '/price').fill('0.10')
  await page.locator('input[type=file]').first().setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from([137, 80, 78, 71, 0, 255]) })
  await page.getByText('x.png, 6 bytes').waitFor()
  const text = await sent(lab, page)
  must(text.includes('"serial":9223372036854775807') && text.includes('"price":0.10') && text.includes('"photo":"iVBORwD/"'), text)
  await page.locator('.result-body', { hasText: '9223372036854775807' }).waitFor()
  await end()
})

check('forms: the JSON view is in step, and nothing is dropped', async () => {
  const { lab, page, end } = await open('t/echo_fields')
  const area = await json(page)
  const text = '{"name":"ab","unknown":{"deep":[1.0,1e400,"\\u0000"]},"pet":{"kind":"cat","meows":true,"age":12345678901234567890},"name2":null}'
  await area.fill(text)
  await page.getByRole('tab', { name: 'Form' }).click()
  await holds(async () => (await field(page, '/name').inputValue()) === 'ab', 'the form does not follow the JSON')
  await holds(async () => (await field(page, '/pet/age').inputValue()).includes('12345678901234567890'), 'a name that the schema lacks is not shown')
  await field(page, '/name').fill('abc')
  const view = await json(page)
  const parts = ['"abc"', '1e400', '12345678901234567890']
  const isWhole = (text) => parts.every((p) => text.includes(p))
  await holds(async () => isWhole(await view.inputValue()), () => view.inputValue())
  must((await sent(lab, page)) === text.replace('"ab"', '"abc"'), 'the request has other arguments than the JSON view')
  // While the JSON is not complete, the form says so, and the text stays.
  await (await json(page)).fill('{"name": ')
  await page.getByRole('tab', { name: 'Form' }).click()
  await page.getByText('The JSON is not complete').waitFor()
  must((await (await json(page)).inputValue()) === '{"name": ', 'the text was replaced')
  await end()
})

check('forms: Go checks while one types, and wrong input is sent only when asked to', async () => {
  const { lab, page, end } = await open(link('{"name":"x","pet":{"kind":"cat","meows":true}}'))
  await page.locator('.field-problem', { hasText: 'at least 2 characters' }).waitFor()
  await field(page, '/serial').fill('many')
  await page.locator('.field-problem', { hasText: 'integer' }).waitFor()
  await page.getByText('also checked: if, then').waitFor()
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.getByText('2 problems').waitFor()
  await holds(async () => (await calls(lab)).length === 0, 'invalid arguments were sent')
  const text = await sent(lab, page, 'Send anyway')
  must(text.includes('"name":"x"') && text.includes('"serial":"many"'), text)
  // Go returns the first problems, and the page counts all.
  await page.goto(`${lab.base}${link(JSON.stringify({ name: 'ab', pet: { kind: 'cat', meows: true }, tags: Array(40).fill('grey') }))}`)
  await ready(page)
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.getByText('41 problems').waitFor()
  // What only the whole schema says is checked, too: level high needs a note.
  await page.goto(`${lab.base}${link('{"name":"ab","level":"high","pet":{"kind":"cat","meows":true}}')}`)
  await ready(page)
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.locator('.field-problem', { hasText: 'required' }).waitFor()
  // A required field that is absent is named at its place.
  await page.goto(`${lab.base}t/echo_fields`)
  await ready(page)
  await page.getByRole('button', { name: /^Call/ }).click()
  await page.locator('.field.wrong', { hasText: 'pet' }).waitFor()
  await end()
})
