// Accessibility: axe-core in every room, theme and state, and windows of every kind.
import { join } from 'node:path'
import { call, check, connected, everything, examples, holds, inspect, must, none, ready, testserver, urls, violations, visit, weather } from './lab.mjs'

const rooms = ['o', 't', 'r', 'p', 'a', 'f', 'h', 'cmp']

const sideways = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

const args = (tool, value) => `t/${tool}?a=${encodeURIComponent(JSON.stringify(value))}`
const show = (kind) => args('show', { kind })
const ask = (kind) => args('ask', { kind })
const fullForm = args('echo_fields', {
  name: 'x', note: null, level: 'high', pet: { kind: 'dog', barks: 2 }, size: 3, scores: { a: 1.5 }, point: [1, 2],
  tree: { value: 'root', children: [{ value: 'leaf' }] }, tags: ['red'], rows: [{ id: 1 }], anything: [1], extra: 5,
})

// callNow presses the button that calls, if there is one.
async function callNow(page) {
  const button = page.locator('.call-bar .primary')
  if (!(await button.count())) return false
  await button.click()
  return true
}

// Each state is a session, and what is done in it before axe looks.
const states = {
  'a real server': {
    sources: async () => ['--', ...everything],
    prepare: async (lab) => {
      await call(lab, 'echo', { message: 'hello' })
      await call(lab, 'get-sum', { a: 1 })
    },
    paths: [...rooms, 't/get-sum', 't/get-structured-content', 'f?at=2', 'f?at=2&tab=timing', 'f?q=is:error', 'f?q=zzz', 'h?call=2', 't/trigger-elicitation-request'],
    act: async (page) => {
      if (await callNow(page)) await page.waitForTimeout(300)
    },
  },
  'a server that wants a token': { sources: async () => [`${await urls()}/401`], paths: rooms },
  'a server that offers nothing but tools': {
    sources: async () => ['--', testserver, 'large'],
    prepare: async (lab) => {
      await call(lab, 'fails')
      await call(lab, 'refuses')
    },
    paths: [...rooms, 't/create_issue_12?v=json', 't/nothing'],
  },
  'a server with an app': {
    sources: async () => ['--', weather],
    paths: ['a', 'o', 'r', 't'],
    act: async (page) => {
      const row = page.locator('main [data-list] .row').first()
      if (!/\/a$/.test(new URL(page.url()).pathname) || !(await row.count())) return
      await row.click()
      await page.locator('.form-fields input').first().fill('Lyon')
      await page.getByRole('button', { name: /^Call and open/ }).click()
      await page.locator('iframe').waitFor()
      await page.waitForTimeout(1500)
    },
  },
  'every kind of field, content and question': {
    sources: async () => ['--', testserver, 'zoo'],
    prepare: async (lab) => {
      await call(lab, 'log')
      await call(lab, 'change')
    },
    paths: [fullForm, 't/echo_fields', `${fullForm}&v=json`, show('markdown'), show('links'), show('resources'), show('image'), show('audio'), show('error'),
      show('right'), show('wrong') + '&tab=structured', show('table') + '&tab=structured', show('json'), show('json') + '&tab=bytes',
      't/log?tab=log', 'r/zoo%3A%2F%2Freport', 'rt/zoo%3A%2F%2F%7Bsection%7D%2F%7Bpage%7D', 'p/review?a=%7B%22language%22%3A%22go%22%2C%22code%22%3A%22x%22%7D',
      ask('form'), ask('sampling'), ask('url')],
    act: async (page) => {
      const changed = page.getByRole('button', { name: /changed$/ })
      if (await changed.count()) await changed.click()
      await callNow(page)
      await page.locator('.asks, .result .pill, .error-text').first().waitFor({ timeout: 3000 }).catch(() => undefined)
      await page.waitForTimeout(150)
    },
    after: async (page) => {
      const cancel = page.locator('.asks').getByRole('button', { name: /^(Cancel|Refuse)$/ })
      if (await cancel.count()) await cancel.first().click()
    },
  },
  'two sources': {
    sources: async () => [join(examples, 'http-reference'), join(examples, 'handbook')],
    paths: rooms,
  },
}

for (const [name, { sources, prepare, paths, act, after }] of Object.entries(states)) {
  for (const colorScheme of ['light', 'dark']) {
    check(`axe, ${colorScheme}: ${name}`, async () => {
      const lab = await inspect(await sources())
      await connected(lab)
      await prepare?.(lab)
      const found = []
      const { page, clean, close } = await visit(lab, { colorScheme, reducedMotion: 'reduce' })
      const look = async (what) => {
        for (const v of await violations(page)) found.push(`${what}: ${v}`)
      }
      await page.locator('.chip').first().waitFor()
      for (const path of paths) {
        await page.evaluate((p) => {
          history.pushState(null, '', `/${p}`)
          dispatchEvent(new PopStateEvent('popstate'))
        }, path)
        await page.waitForTimeout(250)
        await act?.(page)
        await look(`/${path}`)
        await after?.(page)
      }
      await page.keyboard.press('Control+j')
      await look('dock')
      await page.keyboard.press('Control+j')
      await page.keyboard.press('Control+k')
      await page.locator('.palette').waitFor()
      await look('palette')
      await page.keyboard.press('Escape')
      await page.evaluate(() => document.activeElement.blur())
      await page.keyboard.press('?')
      await page.locator('.help').waitFor()
      await look('help')
      found.push(...(await clean()))
      await close()
      lab.stop()
      none(found)
      return `${paths.length + 3} views`
    })
  }
}

const windows = {
  '320 px wide': { viewport: { width: 320, height: 640 } },
  '200 % zoom of 1280 x 800': { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
  'forced colours': { forcedColors: 'active' },
  'reduced motion': { reducedMotion: 'reduce' },
}

// visitAll goes to each place, where nothing may be outside of the window.
async function visitAll(page, paths, act = async () => undefined) {
  for (const path of paths) {
    await page.evaluate((p) => {
      history.pushState(null, '', `/${p}`)
      dispatchEvent(new PopStateEvent('popstate'))
    }, path)
    await page.waitForTimeout(200)
    await act(page)
    await holds(async () => (await sideways(page)) <= 0, async () => `/${path} scrolls sideways by ${await sideways(page)} px`)
    none(await violations(page), `/${path}`)
    const cut = await page.evaluate(() => {
      const main = document.querySelector('main')
      const box = main.getBoundingClientRect()
      return [...main.querySelectorAll('button, input, select, a[href]')]
        .filter((e) => e.checkVisibility({ checkVisibilityCSS: true }) && !e.closest('.list, .table-box, .diff, pre, .sr'))
        .filter((e) => {
          const r = e.getBoundingClientRect()
          let scrolls = false
          for (let p = e.parentElement; p && p !== main; p = p.parentElement) if (p.scrollWidth > p.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(p).overflowX)) scrolls = true
          return r.width > 1 && !scrolls && (r.right > box.right + 1 || r.left < box.left - 1)
        })
        .map((e) => e.textContent.slice(0, 30) || e.getAttribute('aria-label'))
    })
    none(cut, `/${path}: outside of the window`)
  }
}

for (const [name, options] of Object.entries(windows)) {
  check(`window: ${name}`, async () => {
    const lab = await inspect(['--', testserver, 'large'])
    await call(lab, 'get_issue_10', { title: 'hello' })
    const { page, clean, close } = await visit(lab, options)
    await ready(page)
    await visitAll(page, ['o', 't/create_issue_12', 'r', 'p', 'a', 'f?at=2', 'h', 'cmp'], async () => {
      if (!options.reducedMotion) return
      const moving = await page.evaluate(() => document.getAnimations().filter((a) => a.playState === 'running' && a.effect.getTiming().duration > 1 && !a.effect.target?.closest('.spinner, .chips')).length)
      must(moving === 0, `${moving} animations`)
    })
    // It can be used: choose a tool, call it, see the result.
    await page.evaluate(() => {
      history.pushState(null, '', '/t/get_issue_10?a=%7B%22title%22%3A%22hello%22%7D')
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await page.locator('.call-bar .primary').click()
    await page.locator('.result .pill.ok').scrollIntoViewIfNeeded()
    none(await clean())
    await close()
    lab.stop()
  })
}

check('window: 380 px wide, every kind of field and content', async () => {
  const { sources, prepare, paths, after } = states['every kind of field, content and question']
  const lab = await inspect(await sources())
  await prepare(lab)
  const { page, clean, close } = await visit(lab, { viewport: { width: 380, height: 760 } })
  await ready(page)
  await visitAll(page, paths, async () => {
    await after(page)
    await callNow(page)
    await page.locator('.asks, .result .pill, .error-text').first().waitFor({ timeout: 3000 }).catch(() => undefined)
  })
  none(await clean())
  await close()
  lab.stop()
})

check('targets: controls are at least 24 px', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  await call(lab, 'get_issue_10', { title: 'hello' })
  const { page, close } = await visit(lab)
  await ready(page)
  for (const path of ['o', 't/create_issue_12', 'f?at=2', 'h']) {
    await page.evaluate((p) => {
      history.pushState(null, '', `/${p}`)
      dispatchEvent(new PopStateEvent('popstate'))
    }, path)
    await page.waitForTimeout(200)
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('button, select, input:not([type=checkbox], [type=radio], [type=file])')]
        .filter((e) => e.checkVisibility() && !e.matches('.link, .fold') && !e.closest('p, .segments, .sr'))
        .filter((e) => e.getBoundingClientRect().height < 23.5 && e.getBoundingClientRect().width > 2)
        .map((e) => `${e.textContent.slice(0, 20) || e.getAttribute('aria-label')} ${e.getBoundingClientRect().height}`),
    )
    none(small, `/${path}`)
  }
  await close()
  lab.stop()
})
