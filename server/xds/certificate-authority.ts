import 'reflect-metadata'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { newSecretHex } from '../lib/random.ts'

/** A mesh's own root of trust: a self-signed certificate and its key, both PEM. */
export interface RootOfTrust {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** What one data plane proves itself with. Times are epoch ms. */
export interface IssuedCertificate {
  readonly certificatePem: string
  readonly privateKeyPem: string
  readonly issuedAt: number
  readonly expiresAt: number
}

export interface CertificateAuthority {
  /** Throws nothing of its own; about 2 ms of CPU. Names are put in as URIs, `spiffe://<mesh>/<service>` each. */
  issue(request: {
    readonly mesh: string
    readonly services: readonly string[]
    readonly now: number
    readonly validMs: number
  }): Promise<IssuedCertificate>
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const ROOT_VALID_MS = 10 * 365 * 24 * 3_600_000
/** Clocks of peers differ: a certificate is valid from a little before it was made. */
const BACKDATE_MS = 60_000

export async function createRootOfTrust(mesh: string, now: number): Promise<RootOfTrust> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSecretHex(16),
    name: `CN=Tidewatch built-in CA of ${mesh}`,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + ROOT_VALID_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      new SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${mesh}` }]),
    ],
  })
  return { certificatePem: certificate.toString('pem'), privateKeyPem: await toPem(keys.privateKey) }
}

export async function createCertificateAuthority(root: RootOfTrust): Promise<CertificateAuthority> {
  const issuer = new X509Certificate(root.certificatePem)
  const [keyBytes] = PemConverter.decode(root.privateKeyPem)
  const signingKey = await crypto.subtle.importKey('pkcs8', keyBytes!, ALGORITHM, false, ['sign'])
  return {
    async issue({ mesh, services, now, validMs }) {
      const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
      const expiresAt = now + validMs
      const certificate = await X509CertificateGenerator.create({
        serialNumber: newSecretHex(16),
        issuer: issuer.subject,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter: new Date(expiresAt),
        signingAlgorithm: ALGORITHM,
        publicKey: keys.publicKey,
        signingKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyAgreement, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          new SubjectAlternativeNameExtension(services.map((service) => ({ type: 'url' as const, value: `spiffe://${mesh}/${service}` }))),
        ],
      })
      return { certificatePem: certificate.toString('pem'), privateKeyPem: await toPem(keys.privateKey), issuedAt: now, expiresAt }
    },
  }
}

async function toPem(key: CryptoKey): Promise<string> {
  return PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
}
