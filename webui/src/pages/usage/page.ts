import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/usage',
  title: { en: 'Usage', zh: '用量' },
  order: 40,
  load: () => import('./Usage'),
};
