// An input that callers may give away, by name: the plan says which output lies over it, and runs the
// same where nobody gives it.
// RUN: gantry compile %s --donate w -o %t.gantry
// RUN: gantry explain %t.gantry --memory | FileCheck %s
// RUN: gantry explain %t.gantry --json | %python -c "import json, sys; f = json.load(sys.stdin)['functions'][0]; assert [o.get('over') for o in f['outputs']] == [0, None], f['outputs']"
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=TEXT
// RUN: gantry run %t.gantry --fill ramp --output %t.npz && gantry run %s --fill ramp --output %t.other.npz
// RUN: %python -c "import numpy, sys; a, b = map(numpy.load, sys.argv[1:]); assert all((a[n] == b[n]).all() for n in ('next', 'norm')), dict(a)" %t.npz %t.other.npz
// RUN: not gantry compile %s --donate v -o %t.gantry 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: input {{ *}}w {{ *}}f32[1024]
// CHECK: output {{ *}}next {{ *}}f32[1024] {{ *}}4096 {{ *}}CPU:0, over 'w'
// CHECK: output {{ *}}norm {{.*}} CPU:0{{$}}
// CHECK: in, out: 4 KiB less where inputs are given away, since outputs are written into them
// TEXT: plan.output 0 size 4096 {gantry.over = 0 : i64}
// UNKNOWN: error: {{.*}}: --donate v names no input; the inputs are 'w', 'g'
func.func @main(%w: tensor<1024xf32> {gantry.name = "w"}, %g: tensor<1024xf32> {gantry.name = "g"})
    -> (tensor<1024xf32> {gantry.name = "next"}, tensor<f32> {gantry.name = "norm"}) {
  %next = gantry.sub %w, %g : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %norm = gantry.reduce_sum %next {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<f32>
  return %next, %norm : tensor<1024xf32>, tensor<f32>
}
