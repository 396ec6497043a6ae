import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { beginSession } from './api/session';
import { beginWords } from './i18n/i18n';
import { connectLive } from './live/client';
import { App } from './shell/App';
import './theme/base.css';
import './theme/tokens.css';
import { applyTheme } from './theme/theme';

applyTheme();
connectLive();
const root = document.getElementById('root');
void Promise.all([beginWords(), beginSession()]).then(() => {
  if (root) createRoot(root).render(<StrictMode children={<App />} />);
});
