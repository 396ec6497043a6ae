import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/Button';

// Made here of what is shown: nothing is asked again, and both are the same.
export function Download({ name, text }: { name: string; text: () => string }) {
  const { t } = useTranslation('usage');
  const save = () => {
    const address = URL.createObjectURL(new Blob([text()], { type: 'text/csv;charset=utf-8' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1_000);
  };
  return <Button onClick={save}>{t('csv')}</Button>;
}
