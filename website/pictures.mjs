// The screenshots of the website, the README and the guides; web/test/pictures.mjs takes those of the
// tour of the inspector. `scripts/website pictures` takes them, and the check takes them again to
// prove that it can.
//
// A picture shows a page of the website, or with inspect a page of `slipway inspect SOURCE`. Steps
// lead to the state to show. scale: 1.5 is for those on the landing page and in the README.
const call = async (page) => {
  await page.getByRole('button', { name: '404', exact: true }).click()
  await page.keyboard.press('Control+Enter')
  await page.getByText('Not Found').first().waitFor()
}

const open = (page) => page.getByText('tools/call').first().click()

const search = async (page) => {
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('rate limit')
  await page.locator('.VPLocalSearchBox .result').first().waitFor()
}

const landing = async (page) => {
  await page.locator('.inspector').scrollIntoViewIfNeeded() // loads its image
  await page.waitForTimeout(10_000) // the recording plays to its end
  await page.evaluate(() => scrollTo(0, 0))
}

const reference = 'examples/http-reference'

export const pictures = [
  { file: 'docs/images/inspect-light.jpg', inspect: reference, page: 't/get_status', steps: call, height: 720, scale: 1.5 },
  { file: 'docs/images/inspect-dark.jpg', inspect: reference, page: 't/get_status', steps: call, height: 720, scale: 1.5, dark: true },
  { file: 'docs/images/inspect-overview.jpg', inspect: reference, page: 'o' },
  { file: 'docs/images/inspect-traffic.jpg', inspect: 'examples/recordings/http.mcplog', page: 'f', steps: open },
  { file: 'website/screenshots/landing-light.jpg', page: '', full: true, steps: landing },
  { file: 'website/screenshots/landing-dark.jpg', page: '', full: true, steps: landing, dark: true },
  { file: 'website/screenshots/landing-mobile.jpg', page: '', full: true, steps: landing, width: 390 },
  { file: 'website/screenshots/guide-light.jpg', page: 'docs/publish' },
  { file: 'website/screenshots/guide-dark.jpg', page: 'docs/tutorial', dark: true },
  { file: 'website/screenshots/guide-mobile.jpg', page: 'docs/getting-started', width: 390, dark: true },
  { file: 'website/screenshots/architecture.jpg', page: 'architecture', height: 1400 },
  { file: 'website/screenshots/search.jpg', page: 'docs/publish', steps: search }
]
