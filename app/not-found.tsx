import Link from 'next/link'
import { BlockMessage } from '../components/ui/block-message.tsx'

export default function NotFound() {
  return (
    <BlockMessage title="There is no such page">
      <Link href="/" className="text-accent underline">
        Go to the Overview
      </Link>
    </BlockMessage>
  )
}
