package configs

import (
	"time"

	"guard"
)

// The file as it is written. A field of type later is a key whose feature is not
// built yet: it is known, so that it can be refused by its name.
type (
	file struct {
		Mode      mode          `yaml:"mode"`
		Ledger    ledger        `yaml:"ledger"`
		Listen    listen        `yaml:"listen"`
		Group     string        `yaml:"socket_group"`
		TLS       tlsFile       `yaml:"tls"`
		TimeZone  zone          `yaml:"time_zone"`
		Accounts  []account     `yaml:"accounts"`
		Protect   protectFile   `yaml:"protect"`
		Defaults  defaultsFile  `yaml:"defaults"`
		Rules     rulesFile     `yaml:"rules"`
		Busy      busyFile      `yaml:"busy"`
		Ceilings  ceilingsFile  `yaml:"ceilings"`
		Limits    limitsFile    `yaml:"limits"`
		Release   releaseFile   `yaml:"release"`
		Backup    backupFile    `yaml:"backup"`
		Retention time.Duration `yaml:"retention"`
		Signals   signalsFile   `yaml:"signals"`
		Budgets   later         `yaml:"budgets"`
		Exchange  *exchangeFile `yaml:"exchange"`
		Notify    notifyFile    `yaml:"notify"`
	}

	protectFile struct {
		Tags map[string]string `yaml:"tags"`
	}

	defaultsFile struct {
		TTL     time.Duration `yaml:"ttl"`
		OnLimit action        `yaml:"on_limit"`
		Grace   time.Duration `yaml:"grace"`
	}

	rulesFile struct {
		Unregistered     unregisteredFile `yaml:"unregistered"`
		Expiry           expiryFile       `yaml:"expiry"`
		Budget           budgetFile       `yaml:"budget"`
		OrphanVolume     orphanFile       `yaml:"orphan_volume"`
		OrphanSnapshot   orphanFile       `yaml:"orphan_snapshot"`
		OrphanImage      orphanFile       `yaml:"orphan_image"`
		OrphanAddress    orphanFile       `yaml:"orphan_address"`
		OrphanFilesystem orphanFile       `yaml:"orphan_filesystem"`
		PriceChanged     priceChangedFile `yaml:"price_changed"`
		EgressSpike      egressSpikeFile  `yaml:"egress_spike"`

		IdleEmpty    judgementFile `yaml:"idle_empty"`
		IdleResident judgementFile `yaml:"idle_resident"`
		IdleBlind    judgementFile `yaml:"idle_blind"`
		Parked       judgementFile `yaml:"parked"`
		Hung         judgementFile `yaml:"hung"`
		Underused    judgementFile `yaml:"underused"`

		StoppedBilling   stoppedFile      `yaml:"stopped_billing"`
		ProvisioningLong provisioningFile `yaml:"provisioning_long"`

		ProviderReclaim aheadFile  `yaml:"provider_reclaim"`
		BalanceLow      aheadFile  `yaml:"balance_low"`
		RenewsSoon      aheadFile  `yaml:"renews_soon"`
		ChargeMismatch  chargeFile `yaml:"charge_mismatch"`
		OffHours        later      `yaml:"off_hours"`
		Custom          later      `yaml:"custom"`
	}

	unregisteredFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Then  action        `yaml:"then"`
		Adopt *adoptFile    `yaml:"adopt"`
		Act   time.Duration `yaml:"act"`
		perRule
	}

	adoptFile struct {
		TTL     time.Duration `yaml:"ttl"`
		OnLimit action        `yaml:"on_limit"`
	}

	ceilingsFile struct {
		TTL    time.Duration `yaml:"ttl"`
		Budget []guard.Money `yaml:"budget"`
	}

	expiryFile struct {
		Warn []time.Duration `yaml:"warn"`
		Then later           `yaml:"then"`
		Act  later           `yaml:"act"`
		perRule
	}

	budgetFile struct {
		Warn []percent `yaml:"warn"`
		// EgressAtMost counts traffic of unknown price at the most that it can be.
		EgressAtMost bool  `yaml:"egress_at_most"`
		Then         later `yaml:"then"`
		Act          later `yaml:"act"`
		perRule
	}

	stoppedFile struct {
		Warn time.Duration `yaml:"warn"`
		Act  time.Duration `yaml:"act"`
		Then action        `yaml:"then"`
		perRule
	}

	// aheadFile is a rule that tells of what is to come; warn and act are how long before.
	aheadFile struct {
		Warn time.Duration `yaml:"warn"`
		Then action        `yaml:"then"`
		Act  time.Duration `yaml:"act"`
		perRule
	}

	provisioningFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Then  action        `yaml:"then"`
		Act   time.Duration `yaml:"act"`
		perRule
	}

	orphanFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Act   time.Duration `yaml:"act"`
		Then  action        `yaml:"then"`
		perRule
	}

	priceChangedFile struct {
		Over percent       `yaml:"over"`
		Then action        `yaml:"then"`
		Warn time.Duration `yaml:"warn"`
		Act  time.Duration `yaml:"act"`
		perRule
	}

	chargeFile struct {
		Over percent `yaml:"over"`
		Then action  `yaml:"then"`
		Warn later   `yaml:"warn"`
		Act  later   `yaml:"act"`
		perRule
	}

	// perRule is what each rule takes beside its own keys.
	perRule struct {
		Off    bool          `yaml:"off"`
		Match  *matchFile    `yaml:"match"`
		Remind remind        `yaml:"remind"`
		Grace  time.Duration `yaml:"grace"`
		Tiers  later         `yaml:"tiers"`
	}

	matchFile struct {
		Tags    map[string]string `yaml:"tags"`
		Purpose words             `yaml:"purpose"`
		Owner   words             `yaml:"owner"`
		Account words             `yaml:"account"`
		Kind    words             `yaml:"kind"`
	}

	limitsFile struct {
		PerHour         int  `yaml:"unforeseen_per_hour"`
		Percent         int  `yaml:"unforeseen_percent"`
		ForcedUnprotect bool `yaml:"forced_unprotect"`
	}

	releaseFile struct {
		Verify time.Duration `yaml:"verify"`
	}
)

// later marks a key whose feature is not built yet.
type later struct{}

// instead is what to write in the place of a key that is not supported, where there is
// something that does it.
var instead = map[string]string{
	"rules.expiry.then":          "each lease says what is done at its end: write defaults: {on_limit: stop} for those that do not, or guard register --on-limit stop",
	"rules.expiry.act":           "it acts at the end that each lease has: write defaults: {ttl: 8h}, or guard register --ttl 8h; warn is how long before people are told",
	"rules.budget.then":          "each lease says what is done at its cap: write defaults: {on_limit: stop} for those that do not, or guard register --on-limit stop",
	"rules.budget.act":           "it acts at the cap itself, ahead of it by as long as a release takes: guard register --budget 100USD says where that is",
	"rules.charge_mismatch.warn": "it is told when two readings of the bill differ: write over: 5% for how far",
	"rules.charge_mismatch.act":  "write remind: 1d to be told again as long as the bill differs",
	"rules.egress_spike.warn":    "it is told when the sum is reached: write hour: 2USD or day: 10USD",
}

// notYet is what is said of a key that is not supported.
func notYet(path string) string {
	if what, ok := instead[path]; ok {
		return "not supported yet: " + what
	}
	return "not supported yet"
}
