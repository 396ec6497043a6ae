import { useTranslation } from 'react-i18next';
import { signOut, useSession } from '../api/session';
import { LANGUAGES, setLanguage, type Language } from '../i18n/i18n';
import { THEMES, setTheme, useTheme } from '../theme/theme';
import { Menu, type MenuItem } from '../ui/Menu';

export function UserMenu() {
  const { t, i18n } = useTranslation('common');
  const session = useSession();
  const theme = useTheme();
  const themes: MenuItem[] = THEMES.map((one) => ({
    key: one,
    title: t(`themes.${one}`),
    group: t('theme'),
    checked: one === theme,
    act: () => setTheme(one),
  }));
  const languages: MenuItem[] = Object.entries(LANGUAGES).map(([code, name]) => ({
    key: code,
    title: <span lang={code}>{name}</span>,
    group: t('language'),
    checked: code === i18n.language,
    act: () => setLanguage(code as Language),
  }));
  const out: MenuItem = {
    key: 'out',
    title: t('signOut'),
    group: t('signedInAs', { user: session.user, role: t(`roles.${session.role}`) }),
    act: () => void signOut(),
  };
  // Without a session there is nothing to end: a cluster without identity.
  const items = [...themes, ...languages, ...(session.csrf ? [out] : [])];
  return <Menu label={t('userMenu', { user: session.user })} title={<>{session.user} ▾</>} items={items} />;
}
