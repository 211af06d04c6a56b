module fairway-payment

go 1.25

require github.com/stellar/go-stellar-sdk v0.7.3

require (
	github.com/klauspost/compress v1.17.6 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/stellar/go-xdr v0.0.0-20260806060815-dc590f17552a // indirect
	golang.org/x/exp v0.0.0-20231006140011-7918f672742d // indirect
)
