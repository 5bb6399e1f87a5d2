package pod

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// aVolume is written NAME SIZE CLASS [OPTION]: for=NS/CLAIM, label, on=NODE, rox, block.
func aVolume(text string) *v1.PersistentVolume {
	words := strings.Fields(text)
	v := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: words[0]}}
	v.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse(words[1])}
	v.Spec.StorageClassName = strings.Trim(words[2], "-")
	v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	v.Spec.Local = &v1.LocalVolumeSource{Path: "/" + words[0]}
	for _, option := range words[3:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "for":
			namespace, name, _ := strings.Cut(value, "/")
			v.Spec.ClaimRef = &v1.ObjectReference{Namespace: namespace, Name: name, UID: "of-a-cluster"}
		case "label":
			v.Labels = map[string]string{"tier": value}
		case "on":
			v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
			}}}}
		case "rox":
			v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany}
		case "attributes":
			v.Spec.VolumeAttributesClassName = new(value)
		case "block":
			v.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
		}
	}
	return v
}

// aClaim is written NAME SIZE CLASS [OPTION]: volume=NAME, label=VALUE, attributes=CLASS; class * is none.
func aClaim(text string) *v1.PersistentVolumeClaim {
	words := strings.Fields(text)
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: words[0]}}
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(words[1])}
	if words[2] != "*" {
		c.Spec.StorageClassName = new(strings.Trim(words[2], "-"))
	}
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	for _, option := range words[3:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "volume":
			c.Spec.VolumeName = value
		case "attributes":
			c.Spec.VolumeAttributesClassName = new(value)
		case "label":
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": value}}
		}
	}
	return c
}

// Claims are bound as the volume controller of a cluster binds them; "dir" is a claim that
// podctl provisions.
func TestClaimsBindAsTheVolumeController(t *testing.T) {
	for name, c := range map[string]struct {
		volumes, claims, classes []string
		want                     map[string]string
	}{
		"by name":                {[]string{"v 1Gi manual"}, []string{"c 1Gi manual volume=v"}, nil, map[string]string{"c": "v"}},
		"the smallest that fits": {[]string{"a 9Gi m", "b 2Gi m", "c 1Gi m"}, []string{"x 2Gi m"}, nil, map[string]string{"x": "b"}},
		"each volume once":       {[]string{"a 1Gi m", "b 1Gi m"}, []string{"x 1Gi m", "y 1Gi m"}, nil, map[string]string{"x": "a", "y": "b"}},
		"reserved by claimRef":   {[]string{"a 1Gi m", "b 5Gi other for=ns/x"}, []string{"x 1Gi m"}, nil, map[string]string{"x": "b"}},
		"reserved for another":   {[]string{"a 1Gi m for=other/x"}, []string{"x 1Gi m"}, nil, map[string]string{"x": "no persistent volume fits: a: bound to a different claim"}},
		"named and reserved for another": {
			[]string{"a 1Gi m for=other/x"}, []string{"x 1Gi m volume=a"}, nil, map[string]string{"x": `volume "a" already bound to a different claim.`},
		},
		"named first, chosen second":              {[]string{"a 1Gi m", "b 1Gi m"}, []string{"c 1Gi m", "d 1Gi m volume=a"}, nil, map[string]string{"c": "b", "d": "a"}},
		"by selector":                             {[]string{"a 1Gi m", "b 1Gi m label=gold"}, []string{"c 1Gi m label=gold"}, nil, map[string]string{"c": "b"}},
		"too small by name":                       {[]string{"v 1Gi m"}, []string{"c 2Gi m volume=v"}, nil, map[string]string{"c": `Cannot bind to requested volume "v": requested PV is too small`}},
		"another class by name":                   {[]string{"v 1Gi m"}, []string{"c 1Gi - volume=v"}, nil, map[string]string{"c": `Cannot bind to requested volume "v": storageClassName does not match`}},
		"another access mode":                     {[]string{"v 1Gi m rox"}, []string{"c 1Gi m"}, nil, map[string]string{"c": "no persistent volume fits: v: incompatible accessMode"}},
		"another volume mode":                     {[]string{"v 1Gi m block"}, []string{"c 1Gi m"}, nil, map[string]string{"c": "no persistent volume fits: v: incompatible volumeMode"}},
		"by class of attributes":                  {[]string{"a 1Gi m", "b 1Gi m attributes=fast"}, []string{"c 1Gi m attributes=fast"}, nil, map[string]string{"c": "b"}},
		"no class is a class":                     {[]string{"v 1Gi -"}, []string{"c 1Gi *"}, nil, map[string]string{"c": "v"}},
		"the default class":                       {[]string{"v 1Gi -", "w 5Gi std"}, []string{"c 1Gi *"}, []string{"std default"}, map[string]string{"c": "w"}},
		"the default class by its old annotation": {[]string{"v 1Gi -", "w 5Gi std"}, []string{"c 1Gi *"}, []string{"std beta"}, map[string]string{"c": "w"}},
		"no volume of its class":                  {[]string{"v 1Gi m"}, []string{"c 1Gi fast"}, nil, map[string]string{"c": "dir"}},
		"a class with a provisioner":              {[]string{"v 1Gi m"}, []string{"c 2Gi m"}, []string{"m"}, map[string]string{"c": "dir"}},
		"a class without":                         {nil, []string{"c 2Gi m"}, []string{"m none"}, map[string]string{"c": `no persistent volume of the class "m" is declared, and it provisions none`}},
		"many that do not fit": {
			[]string{"a 1Gi m", "b 1Gi m", "d 1Gi m", "e 1Gi m", "f 1Gi m"}, []string{"c 2Gi m"}, nil,
			map[string]string{"c": "no persistent volume fits: a: requested PV is too small; b: requested PV is too small; d: requested PV is too small; and 2 more"},
		},
		"on this node first":   {[]string{"a 1Gi m on=far", "b 9Gi m on=here"}, []string{"c 1Gi m"}, nil, map[string]string{"c": "b"}},
		"an undeclared volume": {[]string{"v 1Gi m"}, []string{"c 1Gi m volume=gone"}, nil, map[string]string{"c": "dir"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} { // the order of documents does not matter
				o := NewObjects()
				o.Hostname = "here"
				if reversed {
					slices.Reverse(c.volumes)
					slices.Reverse(c.claims)
				}
				for _, text := range c.volumes {
					v := aVolume(text)
					o.Volumes[types.NamespacedName{Name: v.Name}] = v
				}
				for _, text := range c.claims {
					claim := aClaim(text)
					o.Claims[types.NamespacedName{Namespace: "ns", Name: claim.Name}] = claim
				}
				for _, text := range c.classes {
					name, option, _ := strings.Cut(text, " ")
					class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/disk"}
					switch option {
					case "default":
						class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
					case "beta":
						class.Annotations = map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}
					case "none":
						class.Provisioner = "kubernetes.io/no-provisioner"
					}
					o.StorageClasses[types.NamespacedName{Name: name}] = class
				}
				merged := Merge(o)
				for claim, want := range c.want {
					got := "dir"
					switch b := merged.Binding("ns", claim); {
					case b.Volume != nil:
						got = b.Volume.Name
					case b.Pending != "":
						got = b.Pending
					}
					if got != want {
						t.Errorf("%s is bound to %s, want %s", claim, got, want)
					}
				}
			}
		})
	}
}

func TestBindingToVolumeOfAnotherNode(t *testing.T) {
	b := Binding{Volume: aVolume("v 1Gi m on=far")}
	if b.CheckNode("far") != nil || b.CheckNode("") != nil {
		t.Error("a volume of this node, or of one that is not known, is said to be elsewhere")
	}
	want := `persistentvolume "v" is on another node: no term of its nodeAffinity matches this one (kubernetes.io/hostname=here)`
	if err := b.CheckNode("here"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
