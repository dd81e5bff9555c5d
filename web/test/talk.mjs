// What servers start: questions in both eras, log lines, progress, updates and changed lists.
import { join } from 'node:path'
import { check, examples, holds, inspect, must, none, ready, testserver, total, urls, visit } from './lab.mjs'

const eras = {
  '2025-11-25, on stdio': async () => ['--', testserver, 'zoo'],
  '2026-07-28, over HTTP': async () => [`${await urls()}/zoo`],
}

const ask = (kind) => `t/ask?a=${encodeURIComponent(JSON.stringify({ kind }))}`

for (const [era, sources] of Object.entries(eras)) {
  check(`questions: ${era}`, async () => {
    const lab = await inspect(await sources())
    const { page, clean, close } = await visit(lab, { path: 'o' })
    await ready(page)
    const [{ version }] = (await (await lab.api('state')).json()).sources
    must(era.startsWith(version), `the page speaks ${version}`)
    const asks = page.locator('.asks')
    const start = async (kind) => {
      await page.goto(lab.base + ask(kind))
      await ready(page)
      await page.getByRole('button', { name: /^Call/ }).click()
    }
    const answered = async (text) => {
      await page.locator('.result .pill.ok').waitFor()
      await page.getByRole('tab', { name: 'JSON' }).last().click()
      await page.getByRole('tab', { name: 'Bytes' }).click()
      const shown = page.locator('.result-body[aria-busy=false] pre.text')
      await holds(
        async () => (await shown.innerText()).includes(text.replace(/"/g, '\\"')),
        async () => `the server got ${await shown.innerText()}, want ${text}`,
      )
      await holds(async () => (await asks.count()) === 0, 'the question is still there')
    }
    await start('form')
    await asks.getByText('Whose room is it?').waitFor()
    await asks.getByRole('button', { name: 'Accept' }).click()
    await asks.locator('.field-problem').first().waitFor()
    await asks.locator('[id="f/guest"]').fill('Ann')
    await asks.getByRole('button', { name: /^default/ }).click()
    await asks.locator('label', { has: page.getByRole('radio', { name: 'sea' }) }).click()
    await asks.getByRole('button', { name: 'Accept' }).click()
    await answered('"content":{"guest":"Ann","nights":1,"view":"sea"}')
    await start('form')
    await asks.locator('[id="f/guest"]').fill('A')
    await asks.locator('.field-problem').first().waitFor()
    await asks.getByRole('button', { name: 'Accept' }).click()
    await asks.getByRole('button', { name: 'Send anyway' }).click()
    await answered('"guest":"A"')
    await start('form')
    await asks.getByRole('button', { name: 'Decline' }).click()
    await answered('"action":"decline"')
    await start('url')
    await asks.getByText('https://example.com/sign-in?next=%2F').waitFor()
    await asks.getByRole('button', { name: 'Accept' }).click()
    await answered('"action":"accept"')
    await start('sampling')
    await asks.getByText('What is the').waitFor()
    await asks.getByRole('textbox', { name: 'Answer as the model' }).fill('Oslo')
    await asks.getByRole('button', { name: 'Send' }).click()
    await answered('"text":"Oslo"')
    await start('two')
    await asks.locator('.ask').first().waitFor()
    await asks.locator('[id="f/guest"]').fill('Ann')
    await asks.getByRole('button', { name: 'Accept' }).click()
    await asks.getByRole('textbox', { name: 'Answer as the model' }).fill('Bergen')
    await asks.getByRole('button', { name: 'Send' }).click()
    await answered('"guest":"Ann"')
    await answered('"text":"Bergen"')
    // Roots are set in Overview, and need no answer.
    await page.goto(`${lab.base}o`)
    await ready(page)
    await page.getByRole('button', { name: 'Version, capabilities, roots' }).click()
    await page.getByPlaceholder('file:///home/me/project').fill('file:///srv/data')
    await page.getByRole('button', { name: 'Set roots' }).click()
    await start('roots')
    await answered('"uri":"file:///srv/data"')
    none(await clean())
    await close()
    lab.stop()
  })
}

for (const [era, sources] of Object.entries(eras)) {
  check(`logs and progress of a call, with levels: ${era}`, async () => {
    const lab = await inspect(await sources())
    const { page, clean, close } = await visit(lab, { path: 't/log' })
    await ready(page)
    await page.getByRole('button', { name: /^Call/ }).click()
    await page.locator('.running', { has: page.locator('progress'), hasText: /[1-5] \/ 5/ }).waitFor()
    await page.locator('.result .pill.ok').waitFor()
    await page.getByRole('tab', { name: 'Log 5' }).click()
    await page.locator('[data-list=log] .row', { hasText: 'the debug line' }).waitFor()
    await page.locator('.log select').selectOption('warning')
    await page.waitForFunction(() => document.querySelectorAll('[data-list=log] .row').length === 2)
    await holds(async () => (await total(lab, 'method:notifications/progress')) === 5, 'progress is missing in Traffic')
    none(await clean())
    await close()
    lab.stop()
  })
}

for (const [era, sources] of Object.entries(eras)) {
  check(`subscriptions: an update is shown where the resource is: ${era}`, async () => {
    const lab = await inspect(await sources())
    const { page, clean, close } = await visit(lab, { path: `r/${encodeURIComponent('zoo://counter')}` })
    await ready(page)
    await page.getByRole('button', { name: /^Read/ }).click()
    await page.locator('.result-body', { hasText: 'reads' }).waitFor()
    await page.evaluate(() => document.activeElement.blur())
    await page.keyboard.press('u')
    await page.getByRole('button', { name: '✓ Subscribed' }).waitFor()
    await lab.api('call', { method: 'POST', body: JSON.stringify({ source: 1, method: 'tools/call', params: { name: 'touch', arguments: {} } }) })
    await page.getByText('Changed once').waitFor()
    await page.getByRole('button', { name: '✓ Subscribed' }).click()
    await page.getByRole('button', { name: 'Subscribe', exact: true }).waitFor()
    none(await clean())
    await close()
    lab.stop()
  })
}

for (const [era, sources] of Object.entries(eras)) {
  check(`changed lists: what is new, gone and different, line by line: ${era}`, async () => {
    const lab = await inspect((await sources()).map((a) => a.replace(/\/zoo$/, '/zoo-to-change')))
    const { page, clean, close } = await visit(lab, { path: 't/change' })
    await ready(page)
    await page.getByRole('button', { name: /^Call/ }).click()
    await page.locator('[data-list=tools] .row', { hasText: 'added' }).waitFor()
    await page.getByRole('button', { name: '+1 −1 ~1 changed' }).click()
    const changes = page.locator('.changes')
    await holds(async () => /\+ added/.test(await changes.innerText()) && /− ask/.test(await changes.innerText()), () => changes.innerText())
    await changes.getByRole('button', { name: '~ log' }).click()
    await changes.locator('.removed', { hasText: 'Sends log messages and progress' }).waitFor()
    await changes.locator('.added', { hasText: 'progress in three steps' }).waitFor()
    none(await clean())
    await close()
    lab.stop()
  })
}

check('lock: saved from the page, and compared with what the server offers later', async () => {
  const lab = await inspect(['--', testserver, 'zoo'])
  const { page, clean, close } = await visit(lab, { path: 'o' })
  await ready(page)
  const card = page.getByRole('region', { name: 'Continue with Slipway' })
  const [download] = await Promise.all([page.waitForEvent('download'), card.getByRole('button', { name: 'Lock', exact: true }).click()])
  const file = await download.path()
  must(download.suggestedFilename() === 'slipway.lock', download.suggestedFilename())
  await card.locator('input[type=file]').setInputFiles(file)
  await card.getByText('Nothing has changed').waitFor()
  await lab.api('call', { method: 'POST', body: JSON.stringify({ source: 1, method: 'tools/call', params: { name: 'change', arguments: {} } }) })
  for (let i = 0; i < 100; i++) {
    const { sources } = await (await lab.api('state')).json()
    const { tools } = await (await lab.api('catalog?source=1')).json()
    if (sources.length && tools.some((t) => t.name === 'added')) break
    await page.waitForTimeout(50)
  }
  await card.locator('input[type=file]').setInputFiles(file)
  await card.locator('.drifts', { hasText: /tools.ask is gone/ }).waitFor()
  await card.locator('.drifts', { hasText: 'progress in three steps' }).waitFor()
  await card.locator('input[type=file]').setInputFiles({ name: 'x.lock', mimeType: 'text/plain', buffer: Buffer.from('no lock') })
  await card.locator('.problem', { hasText: 'not a lock' }).waitFor()
  // What the page cannot do is a command to copy.
  await card.getByRole('button', { name: 'Freeze' }).click()
  await holds(async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('slipway site freeze -o site -- '), 'the command was not copied')
  none((await clean()).filter((r) => !r.includes('400')))
  await close()
  lab.stop()
}, { alone: true }) // the clipboard is shared

check('subscriptions: a server that declares none is not said to be subscribed to', async () => {
  const lab = await inspect([join(examples, 'handbook')])
  const { page, clean, close } = await visit(lab, { path: 'r' })
  await ready(page)
  await page.locator('main [data-list] .row').first().click()
  const button = page.getByRole('button', { name: 'Subscribe', exact: true })
  await button.waitFor()
  must(await button.isDisabled(), 'the button can be pressed')
  const [resource] = (await (await lab.api('catalog?source=1')).json()).resources
  const answer = await lab.api('subscribe', { method: 'POST', body: JSON.stringify({ source: 1, uri: resource.uri, on: true }) })
  must(!answer.ok && /resources.subscribe|not found/.test(await answer.text()), `status ${answer.status}`)
  none(await clean())
  await close()
  lab.stop()
})
