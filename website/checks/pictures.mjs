// Takes the screenshots that ../pictures.mjs lists. Fails if a page prints an error, or if a picture
// shows next to nothing.
//
// usage: node pictures.mjs SITE SLIPWAY FOLDER [WORD]
//
// FOLDER is the repository, or where the files are written instead. With WORD, only the pictures
// with it in their names are taken.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { useDesktopFonts } from '../../web/test/fonts.mjs'
import { pictures } from '../pictures.mjs'
import { launch, serve, website } from './browser.mjs'

const [site, slipway, folder, word = ''] = process.argv.slice(2)
const home = mkdtempSync(join(tmpdir(), 'slipway-pictures-'))
const inspectors = new Map()
useDesktopFonts(home)

/** inspect starts slipway inspect for a source once, and returns the address of its page. */
function inspect(source) {
  if (!inspectors.has(source)) {
    const child = spawn(slipway, ['inspect', '--no-open', source], {
      cwd: dirname(website),
      env: { PATH: process.env.PATH, HOME: home },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const url = new Promise((resolve, reject) => {
      let printed = ''
      child.stdout.on('data', (data) => {
        printed += data
        const found = /http:\/\/\S+#\S+/.exec(printed)
        if (found) resolve(new URL(found[0]))
      })
      child.on('exit', (code) => reject(new Error(`slipway inspect ${source}: exit code ${code}`)))
    })
    inspectors.set(source, { child, url })
  }
  return inspectors.get(source).url
}

const problems = []
const server = await serve(site)
const browser = await launch()

async function take(picture) {
  const context = await browser.newContext({
    viewport: { width: picture.width ?? 1280, height: picture.height ?? 800 },
    colorScheme: picture.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    deviceScaleFactor: picture.scale ?? 1
  })
  const page = await context.newPage()
  page.on('console', (m) => m.type() === 'error' && problems.push(`${picture.file}: console: ${m.text()}`))
  page.on('pageerror', (e) => problems.push(`${picture.file}: ${e.message}`))
  if (picture.inspect) {
    const url = await inspect(picture.inspect)
    await page.goto(url.href)
    await page.waitForURL((u) => !u.hash) // the page has stored the token
    await page.goto(new URL(picture.page, url.origin).href)
  } else {
    await page.goto(server.url + picture.page, { waitUntil: 'networkidle' })
  }
  await picture.steps?.(page)
  await page.waitForTimeout(600) // for what fades in
  const file = join(folder, picture.file)
  mkdirSync(dirname(file), { recursive: true })
  await page.screenshot({ path: file, type: 'jpeg', quality: 72, fullPage: picture.full })
  if (statSync(file).size < 15_000) problems.push(`${picture.file}: shows next to nothing`)
  await context.close()
}

const chosen = pictures.filter((p) => p.file.includes(word))
const waiting = [...chosen]
async function takeAll() {
  for (let picture; (picture = waiting.shift()); ) {
    await take(picture).catch((e) => problems.push(`${picture.file}: ${e.message}`))
  }
}
await Promise.all([takeAll(), takeAll(), takeAll()])
await browser.close()
server.close()
for (const { child } of inspectors.values()) child.removeAllListeners('exit').kill('SIGINT')
rmSync(home, { recursive: true, force: true })
console.log(`${chosen.length} pictures`)
for (const problem of problems) console.log(`  ${problem}`)
process.exit(problems.length ? 1 : 0)
