// Takes the pictures of the page for its documentation, in light and dark.
//
// usage: node pictures.mjs FOLDER [NAME...]
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { useDesktopFonts } from './fonts.mjs'
import { call, connected, inspect, none, photograph, quit, ready, temporary, testserver, urls, visit, weather as weatherProgram } from './lab.mjs'

const [folder, ...names] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

// The pictures show names that a reader may have, and no folders of this machine.
const programs = mkdtempSync(join(temporary, 'bin-'))
copyFileSync(testserver, join(programs, 'tracker'))
copyFileSync(testserver, join(programs, 'zoo'))
copyFileSync(weatherProgram, join(programs, 'weather'))

useDesktopFonts(temporary)
const modules = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))
process.env.PATH = [programs, modules, dirname(process.execPath), process.env.PATH].join(delimiter)
const tracker = ['--', 'tracker', 'large']
const weather = ['--', 'weather']
const zoo = ['--', 'zoo', 'zoo']
const everything = ['--', 'mcp-server-everything']

const settle = (page) => page.waitForTimeout(400)
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key)
}
// definitions writes a definitions file of one command, and returns its path.
async function definitions(name, [command, ...args]) {
  const file = join(mkdtempSync(join(temporary, 'servers-')), `${name}.json`)
  writeFileSync(file, JSON.stringify({ mcpServers: { [name]: { command: join(programs, command), args } } }))
  return file
}

/** Each picture: the sources, where the page is opened, and what is done there. */
const pictures = {
  overview: {
    sources: async () => weather,
    path: 'o',
  },
  'connection-401': {
    sources: async () => [`${await urls()}/401`],
    path: 'o',
  },
  'connection-hang': {
    sources: async () => [`${await urls()}/hang`],
    path: 'o',
    act: (page) => page.waitForTimeout(2500),
  },
  tools: {
    sources: async () => everything,
    path: 't/get-structured-content?a=%7B%22location%22%3A%22Chicago%22%7D',
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.result .pill').waitFor()
    },
  },
  'tools-many': {
    sources: async () => tracker,
    path: 't/create_issue_12?a=%7B%22title%22%3A%22no%22%2C%22limit%22%3A500%7D',
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.field-problem').first().waitFor()
      await settle(page)
      await press(page, 'Escape', '/')
      await page.keyboard.type('create', { delay: 20 })
    },
  },
  'call-running': {
    sources: async () => tracker,
    path: 't/steps?a=%7B%22n%22%3A700%7D',
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.waitForTimeout(1700)
    },
  },
  form: {
    sources: async () => zoo,
    path: `t/echo_fields?a=${encodeURIComponent('{"name":"Ann","note":null,"level":"high","pet":{"kind":"dog","barks":-2},"point":[3,4]}')}`,
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.field-problem').first().waitFor()
    },
  },
  result: {
    sources: async () => zoo,
    path: `t/show?a=${encodeURIComponent('{"kind":"resources"}')}`,
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.result .pill').waitFor()
    },
  },
  changes: {
    sources: async () => zoo,
    path: 't/change',
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.getByRole('button', { name: /changed$/ }).click()
      await page.locator('.changes').getByRole('button', { name: '~ log' }).click()
      await page.locator('.splitter.vertical').first().focus()
      for (let i = 0; i < 12; i++) await press(page, 'ArrowRight')
      await page.evaluate(() => document.activeElement.blur())
    },
  },
  lost: {
    sources: async () => zoo,
    env: () => ({ ZOO_CRASHED: join(mkdtempSync(join(temporary, 'state-')), 'crashed') }),
    path: `t/show?a=${encodeURIComponent('{"kind":"markdown"}')}`,
    act: async (page, lab) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.result .pill').waitFor()
      await call(lab, 'crash')
      await page.locator('.banner.warn').waitFor()
      await page.waitForFunction(() => /attempt [2-9].*FATAL/s.test(document.querySelector('.banner.warn')?.innerText ?? ''))
    },
  },
  lock: {
    sources: async () => zoo,
    path: 'o',
    act: async (page, lab) => {
      const file = join(mkdtempSync(join(temporary, 'lock-')), 'slipway.lock')
      writeFileSync(file, await (await lab.api('lock?source=1')).text())
      await call(lab, 'change')
      await page.waitForTimeout(700)
      await page.locator('input[type=file]').setInputFiles(file)
      await page.locator('.drifts').waitFor()
      await page.locator('.drifts').scrollIntoViewIfNeeded()
    },
  },
  resources: {
    sources: async () => weather,
    path: 'r',
    act: async (page) => {
      await page.locator('main [data-list] .row').nth(0).click()
      const read = page.locator('.call-bar .primary')
      if (await read.count()) await read.click()
    },
  },
  prompts: {
    sources: async () => everything,
    path: `p/args-prompt?a=${encodeURIComponent('{"city":"Chicago","state":"Illinois"}')}`,
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.result .pill').waitFor()
    },
  },
  question: {
    sources: async () => everything,
    path: 't/trigger-elicitation-request',
    act: async (page) => {
      await page.locator('.call-bar .primary').click()
      await page.locator('.asks form, .asks .form-fields, .asks button').first().waitFor()
    },
  },
  traffic: {
    sources: async () => tracker,
    prepare: async (lab) => {
      await call(lab, 'get_issue_10', { title: 'Crash on start' })
      await call(lab, 'steps', { n: 60 })
      await call(lab, 'flood', { n: 214 })
      await call(lab, 'refuses', { n: 7 })
      await call(lab, 'big_json')
    },
    path: 'f?tab=response',
    act: async (page) => {
      await page.locator('[data-list=traffic] .row', { hasText: 'big_json' }).click()
    },
  },
  'traffic-compare': {
    sources: async () => tracker,
    prepare: async (lab) => {
      await call(lab, 'get_issue_10', { title: 'Crash on start', state: 'open' })
      await call(lab, 'get_issue_10', { title: 'Crash at the end', state: 'closed' })
    },
    path: 'f',
    act: async (page) => {
      await page.locator('[data-list=traffic] .row', { hasText: 'get_issue_10' }).first().click()
      await press(page, 'm')
      await page.locator('[data-list=traffic] .row', { hasText: 'get_issue_10' }).last().click()
      await page.locator('.details').getByText('Compare with').waitFor()
      await press(page, 'c')
    },
  },
  history: {
    sources: async () => tracker,
    prepare: async (lab) => {
      for (let i = 0; i < 6; i++) await call(lab, 'get_issue_10', { title: `Crash ${i}` })
      await call(lab, 'fails')
      await call(lab, 'refuses', { n: 3 })
    },
    flags: () => {
      const file = join(mkdtempSync(join(temporary, 'calls-')), 'issues.calls.json')
      const get = (name, title, expect) => ({ name, method: 'tools/call', params: { name: 'get_issue_10', arguments: { title } }, expect })
      writeFileSync(file, JSON.stringify({
        calls: [
          { ...get('issue 12', 'Crash on start', [{ pointer: '/structuredContent/id', equals: 12 }]), star: true },
          get('closed issue', 'Crash at the end', [{ pointer: '/structuredContent/state', equals: 'closed' }]),
          { name: 'out of range', method: 'tools/call', params: { name: 'refuses', arguments: { n: -1 } }, expect: [{ error: -32602 }] },
        ],
      }))
      return ['--calls', file]
    },
    path: 'h?saved=closed+issue',
    act: async (page) => {
      await page.locator('[data-list=saved] .row').first().waitFor()
      await press(page, 'Shift+R')
      await page.locator('[data-verdict]').getByText('2 passed').waitFor()
    },
  },
  compare: {
    // Sources on a command line are one command or several others, so this one is a definitions file.
    sources: async () => [await definitions('tracker 1.4', tracker.slice(1)), `${await urls()}/mcp`],
    count: 2,
    path: `cmp?t=get_issue_10&a=${encodeURIComponent('{"title":"Crash on start"}')}`,
    act: async (page) => {
      await page.getByText('tools are in both').waitFor() // before, it asks whether the tool is destructive
      await page.getByRole('button', { name: /Call both/ }).click()
      await page.waitForFunction(() => document.querySelectorAll('.compare-sides .result .pill').length === 2)
    },
  },
  palette: {
    sources: async () => everything,
    path: 't/echo',
    act: async (page) => {
      await press(page, 'Control+k')
      await page.keyboard.type('res')
    },
  },
  narrow: {
    sources: async () => tracker,
    path: 't/create_issue_12',
    options: { viewport: { width: 390, height: 800 } },
  },
  app: {
    sources: async () => weather,
    path: 'a',
    act: async (page) => {
      await page.locator('main [data-list] .row').first().click()
      await page.locator('.form-fields input').first().fill('Lyon')
      await page.getByRole('button', { name: /^Call and open/ }).click()
      await page.waitForTimeout(2500)
    },
  },
}

const wrong = []
for (const [name, p] of Object.entries(pictures)) {
  if (names.length && !names.includes(name)) continue
  for (const colorScheme of ['light', 'dark']) {
    const lab = await inspect(await p.sources(), { flags: p.flags?.() ?? [], env: p.env?.() ?? {} })
    try {
      if (!name.startsWith('connection')) await connected(lab)
      await p.prepare?.(lab)
      const { page, clean, close } = await visit(lab, {
        viewport: { width: 1280, height: 800 },
        colorScheme,
        reducedMotion: 'reduce',
        path: p.path,
        ...p.options,
      })
      if (!name.startsWith('connection')) await ready(page, p.count ?? 1)
      await settle(page)
      page.setDefaultTimeout(30_000)
      await p.act?.(page, lab)
      await settle(page)
      await page.screenshot({ path: join(folder, `inspect-${name}-${colorScheme}.jpg`), type: 'jpeg', quality: 74 })
      for (const fault of await clean()) wrong.push(`${name} ${colorScheme}: ${fault}`)
      await close()
      console.log(`inspect-${name}-${colorScheme}.jpg`)
    } catch (error) {
      wrong.push(`${name} ${colorScheme}: ${error.message}`)
      if (process.env.SLIPWAY_PICTURES) await photograph(process.env.SLIPWAY_PICTURES, `${name}-${colorScheme}`)
    }
    lab.stop()
  }
}
await quit()
none(wrong)
