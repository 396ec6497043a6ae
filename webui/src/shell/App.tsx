import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Router, Switch, useLocation } from 'wouter';
import { queryClient } from '../api/query';
import { retrySession, useHasRole, useSession, useSessionState } from '../api/session';
import { ErrorNote } from '../ui/ErrorNote';
import { EmptyState, Loading, NoPermission } from '../ui/states-of-pages';
import { ErrorBoundary } from './ErrorBoundary';
import { pages, navigation, type Page } from './pages';
import { Shell } from './Shell';
import { SignIn } from './SignIn';
import { useLive } from './useLive';

export function App() {
  const state = useSessionState();
  useLive(state.phase === 'in');
  if (state.phase === 'asking') return <Loading />;
  if (state.phase === 'failed') return <ErrorNote error={state.error} again={retrySession} />;
  if (state.phase === 'out') return <SignIn error={state.error} />;
  return (
    <QueryClientProvider client={queryClient}>
      <Router>
        <Shell>
          <Pages />
        </Shell>
      </Router>
    </QueryClientProvider>
  );
}

function Pages() {
  const { t } = useTranslation('common');
  return (
    <Switch>
      {pages.map((page) => (
        <Route key={page.name} path={page.path}>
          <Shown page={page} />
        </Route>
      ))}
      <Route path="/">
        <Redirect to={navigation[0]?.path ?? '/'} replace />
      </Route>
      <Route>
        <EmptyState title={t('noPage')} />
      </Route>
    </Switch>
  );
}

function Shown({ page }: { page: Page }) {
  const [path] = useLocation();
  const { t } = useTranslation('common');
  const least = page.role ?? 'viewer';
  const allowed = useHasRole(least);
  const { user, role } = useSession();
  // A new page is read from its top, by eyes and by screen readers.
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [path]);
  if (!allowed) {
    const words = { user, role: t(`roles.${role}`), least: t(`roles.${least}`) };
    return <NoPermission>{t('noPermissionWords', words)}</NoPermission>;
  }
  return (
    <ErrorBoundary key={path}>
      <Suspense fallback={<Loading />}>
        <page.View />
      </Suspense>
    </ErrorBoundary>
  );
}
