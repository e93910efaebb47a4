package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// identity is the certificate authority of one server, with the files that it has signed.
type identity struct {
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

func (i identity) path(name string) string { return filepath.Join(i.folder, name) }

// newIdentity makes ca.{crt,key}, server.{crt,key}, admin.{crt,key} and the key for account tokens.
func newIdentity(folder string) (identity, error) {
	i := identity{folder: folder}
	template := certificate(pkix.Name{CommonName: "peer-ca"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	var err error
	if i.cert, i.key, err = i.sign("ca", template); err != nil {
		return i, err
	}
	server := certificate(pkix.Name{CommonName: "kube-apiserver"})
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses, server.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	if _, _, err = i.sign("server", server); err != nil {
		return i, err
	}
	admin := certificate(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	admin.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, _, err = i.sign("admin", admin); err != nil {
		return i, err
	}
	_, _, err = i.sign("accounts", certificate(pkix.Name{CommonName: "accounts"}))
	return i, err
}

func certificate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(24 * time.Hour),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// sign makes a key and its certificate as NAME.key and NAME.crt; the authority signs itself.
func (i identity) sign(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, err
	}
	issuer, issuerKey := i.cert, i.key
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	if err = i.write(name+".crt", "CERTIFICATE", signed); err != nil {
		return nil, nil, err
	}
	if err = i.write(name+".key", "EC PRIVATE KEY", secret); err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(signed)
	return cert, key, err
}

func (i identity) write(name, kind string, bytes []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	return os.WriteFile(i.path(name), text, 0o600)
}

// writeKubeconfig writes the administrator's kubeconfig whole or not at all: its presence means ready.
func (i identity) writeKubeconfig(server string) error {
	read := func(name string) []byte {
		bytes, _ := os.ReadFile(i.path(name))
		return bytes
	}
	config := api.NewConfig()
	config.Clusters["peer"] = &api.Cluster{Server: server, CertificateAuthorityData: read("ca.crt")}
	config.AuthInfos["admin"] = &api.AuthInfo{ClientCertificateData: read("admin.crt"), ClientKeyData: read("admin.key")}
	config.Contexts["peer"] = &api.Context{Cluster: "peer", AuthInfo: "admin"}
	config.CurrentContext = "peer"
	if err := clientcmd.WriteToFile(*config, i.path("admin.kubeconfig.new")); err != nil {
		return err
	}
	return os.Rename(i.path("admin.kubeconfig.new"), i.path("admin.kubeconfig"))
}
