package ambry

import "time"

// CodeRequest asks for a code that shows that an address is the person's.
type CodeRequest struct {
	Channel string `json:"channel" enum:"email,phone" doc:"phone is not offered"`
	Email   string `json:"email,omitempty" maxLength:"1024" doc:"One plain address"`
	Locale  string `json:"locale,omitempty" maxLength:"35" doc:"Language of the mail, such as en or zh-CN"`
}

// CodeSent says that a code is on its way, if the address exists.
type CodeSent struct {
	OK             bool `json:"ok"`
	ResendAfterSec int  `json:"resendAfterSec" doc:"After so many seconds another one can be asked for"`
}

// CodeAnswer gives a code back.
type CodeAnswer struct {
	Channel          string `json:"channel" enum:"email,phone" doc:"phone is not offered"`
	Email            string `json:"email,omitempty" maxLength:"1024"`
	VerificationCode string `json:"verificationCode" maxLength:"1024" doc:"Six digits"`
	LoginSource      string `json:"loginSource,omitempty" maxLength:"64" doc:"Accepted, and not looked at"`
}

// AccountProfile is who somebody is.
type AccountProfile struct {
	UserID   string `json:"userId"`
	Email    string `json:"email"`
	Nickname string `json:"nickname"`
}

// AccountSession says who is logged in.
type AccountSession struct {
	Authenticated bool            `json:"authenticated"`
	IsNewUser     bool            `json:"isNewUser,omitempty" doc:"The account was made by this login"`
	Profile       *AccountProfile `json:"profile,omitempty"`
	ExpiresAt     *time.Time      `json:"expiresAt,omitempty"`
	Unconfirmed   bool            `json:"unconfirmed,omitempty" doc:"The account service cannot be asked now; this is what it said last"`
}

// AccountLogin is what an account service answers to the right code.
type AccountLogin struct {
	Token     string         `json:"token" doc:"Opens the session; it is shown once"`
	ExpiresAt time.Time      `json:"expiresAt"`
	IsNewUser bool           `json:"isNewUser"`
	Profile   AccountProfile `json:"profile"`
}

// AccountCodes is what is known of the codes of one address, and of the last
// hour in all. Nothing in it shows an address or a code.
type AccountCodes struct {
	Digest     []byte    // of the code, nil if there is none
	ExpiresAt  time.Time // of the code
	SentAt     time.Time // when one was asked for last
	Tries      int       // that were wrong
	TriesUntil time.Time // when they are forgotten

	Sent, Wrong []time.Time // when codes were asked for, and wrong ones given, for any address; what is added is kept
}

// AccountGrant is a session of an account service, by the digest of its token.
type AccountGrant struct {
	Digest    []byte
	User      AccountProfile
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
}

// AccountLoggedIn says that somebody has logged in.
type AccountLoggedIn struct {
	UserID string `json:"userId"`
}

// Topic names the event.
func (AccountLoggedIn) Topic() string { return "account.logged_in" }

// AccountLoggedOut says that nobody is logged in any more.
type AccountLoggedOut struct {
	Reason string `json:"reason" enum:"logout,ended" doc:"ended is a session that has expired or was revoked"`
}

// Topic names the event.
func (AccountLoggedOut) Topic() string { return "account.logged_out" }

// AccountDeliveryFailed says that the mail server did not take a mail with a
// code, after it had let us in.
type AccountDeliveryFailed struct {
	Reason string `json:"reason" doc:"What to look at; never the address"`
}

// Topic names the event.
func (AccountDeliveryFailed) Topic() string { return "account.delivery_failed" }
