// Accessibility: axe-core in every room, theme and state, and windows of every kind.
import { join } from 'node:path'
import { call, check, connected, everything, examples, inspect, must, none, ready, testserver, urls, violations, visit, weather } from './lab.mjs'

const rooms = ['o', 't', 'r', 'p', 'a', 'f', 'h', 'cmp']

const sideways = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

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
      const button = page.locator('.call-bar .primary')
      if (await button.count()) {
        await button.click()
        await page.waitForTimeout(300)
      }
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
  'two sources': {
    sources: async () => [join(examples, 'http-reference'), join(examples, 'handbook')],
    paths: rooms,
  },
}

for (const [name, { sources, prepare, paths, act }] of Object.entries(states)) {
  check(`axe: ${name}`, async () => {
    const lab = await inspect(await sources())
    await connected(lab)
    await prepare?.(lab)
    const found = []
    for (const colorScheme of ['light', 'dark']) {
      const { page, clean, close } = await visit(lab, { colorScheme, reducedMotion: 'reduce' })
      await page.locator('.chip').first().waitFor()
      for (const path of paths) {
        await page.evaluate((p) => {
          history.pushState(null, '', `/${p}`)
          dispatchEvent(new PopStateEvent('popstate'))
        }, path)
        await page.waitForTimeout(250)
        await act?.(page)
        for (const v of await violations(page)) found.push(`/${path} ${colorScheme}: ${v}`)
      }
      await page.keyboard.press('Control+k')
      await page.locator('.palette').waitFor()
      for (const v of await violations(page)) found.push(`palette ${colorScheme}: ${v}`)
      await page.keyboard.press('Escape')
      await page.evaluate(() => document.activeElement.blur())
      await page.keyboard.press('?')
      await page.locator('.help').waitFor()
      for (const v of await violations(page)) found.push(`help ${colorScheme}: ${v}`)
      found.push(...(await clean()))
      await close()
    }
    lab.stop()
    none(found)
    return `${(paths.length + 2) * 2} views`
  })
}

const windows = {
  '320 px wide': { viewport: { width: 320, height: 640 } },
  '200 % zoom of 1280 x 800': { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
  'forced colours': { forcedColors: 'active' },
  'reduced motion': { reducedMotion: 'reduce' },
}

for (const [name, options] of Object.entries(windows)) {
  check(`window: ${name}`, async () => {
    const lab = await inspect(['--', testserver, 'large'])
    await call(lab, 'get_issue_10', { title: 'hello' })
    const { page, clean, close } = await visit(lab, options)
    await ready(page)
    for (const path of ['o', 't/create_issue_12', 'r', 'p', 'a', 'f?at=2', 'h', 'cmp']) {
      await page.evaluate((p) => {
        history.pushState(null, '', `/${p}`)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
      await page.waitForTimeout(200)
      must((await sideways(page)) <= 0, `/${path} scrolls sideways by ${await sideways(page)} px`)
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
      if (options.reducedMotion) {
        const moving = await page.evaluate(() => document.getAnimations().filter((a) => a.playState === 'running' && a.effect.getTiming().duration > 1 && !a.effect.target?.closest('.spinner, .chips')).length)
        must(moving === 0, `/${path}: ${moving} animations`)
      }
    }
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
