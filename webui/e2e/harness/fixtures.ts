// `test` for the browser's tests: a page that fails on each error that it throws or logs, the shared cluster, and
// signing in.
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, type BrowserContext, type Page } from '@playwright/test';
import { Cluster, type ClusterInfo, type RoleName } from './cluster';

// What a browser says of a request that was refused or not answered; tests that provoke it allow it by name.
export const REFUSED = /Failed to load resource: the server responded with a status of \d+/;
export const UNREACHABLE = /net::ERR_(CONNECTION|EMPTY|INCOMPLETE|NETWORK|SOCKET)/;

export interface Watch {
  allow(what: RegExp): void; // such words in the console are expected from now on
  all: string[];
}

// Each word that a page of the context throws or logs as an error; CSP violations are among them.
function watchContext(context: BrowserContext): Watch {
  const allowed: RegExp[] = [];
  const watch: Watch = { allow: (what) => allowed.push(what), all: [] };
  const note = (words: string) => {
    if (words.includes('ERR_NETWORK_CHANGED')) return; // an interface of this machine came or went: not the page's
    if (!allowed.some((one) => one.test(words))) watch.all.push(words);
  };
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(message.text());
  });
  context.on('weberror', (error) => note(String(error.error().stack ?? error.error())));
  return watch;
}

interface Fixtures {
  cluster: Cluster;
  watch: Watch;
  signIn: (role: RoleName, path?: string, page?: Page) => Promise<void>;
}

const SIGNED_IN_MS = 20_000;

export const test = base.extend<Fixtures>({
  cluster: async ({}, use) => {
    const cluster = Cluster.of(JSON.parse(process.env.GLIM_E2E_CLUSTER ?? 'null') as ClusterInfo);
    await use(cluster);
    await cluster.ask('cancel_all');
  },
  baseURL: async ({ cluster }, use) => use(cluster.url),
  watch: [
    async ({ context }, use) => {
      const watch = watchContext(context);
      await use(watch);
      expect(watch.all, 'what the page threw or logged').toEqual([]);
    },
    { auto: true },
  ],
  // As a person does it: by the address that `glim login --web` prints, and then to the page.
  signIn: async ({ cluster, page: first }, use) =>
    use(async (role, path = '/', page = first) => {
      // A network interface that comes or goes on this machine meanwhile ends whatever a browser loads, the page or its
      // scripts: once more then.
      await expect(async () => {
        await page.goto(await cluster.code(role));
        await expect(page.getByRole('navigation')).toBeVisible({ timeout: SIGNED_IN_MS });
      }).toPass();
      if (path !== '/') await page.goto(path);
    }),
});

export { expect };

export async function setTheme(page: Page, theme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
}

export async function setLanguage(page: Page, language: 'en' | 'zh'): Promise<void> {
  await page.evaluate((code) => localStorage.setItem('glim-language', code), language);
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('lang', language === 'zh' ? 'zh-CN' : 'en');
}

// WCAG 2.2 A and AA, by axe.
export async function expectNoAxeViolations(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
    .analyze();
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join('\n')}`);
  expect(told, 'what axe found').toEqual([]);
}

// Words of three letters and more that are shown though the page is Chinese: those that `allowed` has are names,
// commands and what the scheduler says, which is marked as English.
export async function englishWords(page: Page, allowed: RegExp): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const found: string[] = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const parent = node.parentElement;
      if (parent?.closest('code, kbd, [lang=en], [data-name], script, style')) continue;
      if (parent?.checkVisibility()) found.push(node.textContent ?? '');
    }
    return found;
  });
  return texts.filter((text) => /[A-Za-z]{3,}/.test(text.replaceAll(new RegExp(allowed, 'g'), '')));
}

// What each page has to pass, as it is shown now: both themes by axe, and Chinese without English words. The page is
// Chinese and dark afterwards.
export async function expectGoodPage(page: Page, names: RegExp): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await setTheme(page, theme);
    await expectNoAxeViolations(page);
  }
  await setLanguage(page, 'zh');
  await expect(page.locator('h1')).toBeVisible();
  expect(await englishWords(page, names), 'English in a Chinese page').toEqual([]);
  await expectNoAxeViolations(page);
}
