package compshare

import "testing"

// TestSignature is the example of the vendor's own page on signatures.
func TestSignature(t *testing.T) {
	in := params{
		"Action": "CreateUHostInstance", "Region": "cn-bj2", "Zone": "cn-bj2-04", "ImageId": "f43736e1-65a5-4bea-ad2e-8a46e18883c2",
		"CPU": 2, "Memory": 2048, "DiskSpace": 10, "LoginMode": "Password", "Password": "VUNsb3VkLmNu", "Name": "Host01",
		"ChargeType": "Month", "Quantity": 1, "PublicKey": "ucloudsomeone@example.com1296235120854146120",
	}
	const private, want = "46f09bb9fab4f12dfc160dae12273d5332b5debe", "4f9ef5df2abab2c6fccd1e9515cb7e2df8c6bb65"
	if got := signature(in, private); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	in["UHostIds"] = []string{"a", "b"}
	list := signature(in, private)
	in["UHostIds"] = "ab"
	if got := signature(in, private); got != list {
		t.Error("a list is not signed as what is in it, one after the other")
	}
	in["ReleaseUDisk"] = false
	no := signature(in, private)
	in["ReleaseUDisk"] = "false"
	if got := signature(in, private); got != no {
		t.Error("no is not signed as false")
	}
}
