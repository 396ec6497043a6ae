// Words by key, English and Chinese. Each page has its own file, `pages/NAME/words.LANGUAGE.json`, loaded with it.
import i18n from 'i18next';
import { initReactI18next } from 'react-i18next';

export const LANGUAGES = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = 'glim-language';
const files = import.meta.glob<{ default: Record<string, unknown> }>(['./words.*.json', '../pages/*/words.*.json']);

function firstLanguage(): Language {
  const kept = localStorage.getItem(KEY) ?? navigator.language;
  return kept.startsWith('zh') ? 'zh' : 'en';
}

function read(language: string, space: string) {
  const path = space === 'common' ? `./words.${language}.json` : `../pages/${space}/words.${language}.json`;
  const file = files[path];
  return file ? file().then((module) => module.default) : Promise.reject(new Error(`there is no ${path}`));
}

export function setLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
  void i18n.changeLanguage(language);
}

export async function beginWords(language: Language = firstLanguage()): Promise<void> {
  i18n.use(initReactI18next).use({
    type: 'backend',
    read: (lng: string, ns: string, done: (error: Error | null, words: Record<string, unknown> | boolean) => void) => {
      read(lng, ns).then(
        (words) => done(null, words),
        (error: Error) => done(error, true), // it is read again, some times
      );
    },
  });
  i18n.on('languageChanged', (lng) => (document.documentElement.lang = lng === 'zh' ? 'zh-CN' : 'en'));
  await i18n.init({
    lng: language,
    fallbackLng: false,
    ns: ['common'],
    defaultNS: 'common',
    interpolation: { escapeValue: false }, // React escapes
    saveMissing: true, // or no handler is called
    missingKeyHandler: (_lngs, space, key) => console.error(`no words for ${space}:${key}`),
  });
}

// The namespaces that a page needs, loaded while its code is. A page without its words is not shown.
export async function loadWords(space: string): Promise<void> {
  await i18n.loadNamespaces(space);
  if (!i18n.hasResourceBundle(i18n.language, space)) throw new Error(`the words of ${space} cannot be loaded`);
}
