// Placement locks (spec P13): written, read again, and stale.
// RUN: split-file %s %t
// RUN: gantry compile %t/graph.mlir --place op:Exp=GPU:1 --write-placement-lock %t/lock.txt --stop-after=place -o /dev/null
// RUN: FileCheck %s --check-prefix=LOCK --match-full-lines < %t/lock.txt
// RUN: gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/lock.txt" --mlir-print-local-scope | FileCheck %s
// RUN: gantry compile %t/graph.mlir --placement-lock %t/lock.txt --write-placement-lock %t/again.txt --stop-after=place -o /dev/null
// RUN: cmp %t/lock.txt %t/again.txt

// LOCK: # gantry placement lock 1
// LOCK-NEXT: main Neg/output1 /job:localhost/replica:0/task:0/device:CPU:0
// LOCK-NEXT: main exp /job:localhost/replica:0/task:0/device:GPU:1
// LOCK-NOT: {{.+}}
// CHECK: gantry.exp {{.*}}device:GPU:1">{{.*}}<"lock", "locked by {{.*}}lock.txt:3">
// CHECK: gantry.neg {{.*}}device:CPU:0">

// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/request.txt" 2>&1 | FileCheck %s --check-prefix=REQUEST
// REQUEST: graph.mlir:5:10: error: {{.*}}request.txt:2: the lock is stale: it has 'Neg' ('Neg/output1') on '/job:localhost/replica:0/task:0/device:GPU:0', against the request for '/job:localhost/replica:0/task:0/device:CPU:0'; write a new one with --write-placement-lock
// REQUEST: graph.mlir:5:10: note: 'Neg' ('Neg/output1') is requested on '/job:localhost/replica:0/task:0/device:CPU:0'

// No other where requests may fall back: a lock is no reason to.
// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="soft lock=%t/request.txt" 2>&1 | FileCheck %s --check-prefix=REQUEST

// What a request falls back to is fine, be it by the request's own softness or by the option.
// RUN: gantry compile %t/soft.mlir --soft-placement --write-placement-lock %t/soft.txt --stop-after=place -o /dev/null
// RUN: gantry compile %t/soft.mlir --soft-placement --placement-lock %t/soft.txt --write-placement-lock %t/again.txt --stop-after=place -o /dev/null
// RUN: cmp %t/soft.txt %t/again.txt
// RUN: FileCheck %s --check-prefix=SOFT --match-full-lines < %t/soft.txt
// SOFT: main missing /job:localhost/replica:0/task:0/device:GPU:0
// SOFT-NEXT: main there /job:localhost/replica:0/task:0/device:GPU:1
// RUN: gantry-opt %t/soft.mlir --gantry-name-ops --gantry-place="soft lock=%t/other.txt" --mlir-print-local-scope | FileCheck %s --check-prefix=OTHER
// OTHER: gantry.exp {{.*}}device:GPU:1">{{.*}}gantry.name = "missing"
// RUN: not gantry-opt %t/soft.mlir --gantry-name-ops --gantry-place="soft lock=%t/type.txt" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: soft.mlir:3:10: error: {{.*}}type.txt:2: the lock is stale: it has 'Exp' ('missing') on '/job:localhost/replica:0/task:0/device:CPU:0', against the request for '/job:localhost/replica:0/task:0/device:GPU:9'; write a new one with --write-placement-lock
// TYPE: soft.mlir:3:10: note: 'Exp' ('missing') is requested on '/job:localhost/replica:0/task:0/device:GPU:9', an unknown device, and falls back to the next best
// RUN: gantry explain %t/soft.mlir --soft-placement --placement-lock %t/type.txt --why-not missing CPU:0 | FileCheck %s --check-prefix=WHYNOT
// WHYNOT: 'Exp' ('missing') has no device; for CPU:0:
// WHYNOT-NEXT: - drop the request of 'Exp' ('missing') for GPU:9

// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/device.txt" 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: graph.mlir:4:10: error: {{.*}}device.txt:2: the lock is stale: it has 'Exp' ('exp') on '/job:localhost/replica:0/task:0/device:GPU:9', an unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1; write a new one with --write-placement-lock

// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/op.txt" 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: {{.*}}op.txt:3: the lock is stale: 'gone' of 'main' is not in the graph; write a new one with --write-placement-lock

// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/line.txt" 2>&1 | FileCheck %s --check-prefix=LINE
// LINE: error: --placement-lock: {{.*}}line.txt: line 2: expected FUNCTION NAME DEVICE
// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/graph.mlir" 2>&1 | FileCheck %s --check-prefix=HEAD
// HEAD: error: --placement-lock: {{.*}}graph.mlir: not a placement lock of this version; the first line must be '# gantry placement lock 1'
// RUN: not gantry-opt %t/graph.mlir --gantry-name-ops --gantry-place="lock=%t/none.txt" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --placement-lock: {{.*}}none.txt

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // Generators follow their uses, also in a lock's world.
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.exp %x {gantry.name = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.neg %0 {gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

//--- soft.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.exp %x {gantry.name = "missing", gantry.device = #gantry.device<"GPU:9">} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.neg %0 {gantry.name = "there", gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

//--- other.txt
# gantry placement lock 1
main missing /job:localhost/replica:0/task:0/device:GPU:1

//--- type.txt
# gantry placement lock 1
main missing /job:localhost/replica:0/task:0/device:CPU:0

//--- request.txt
# gantry placement lock 1
main Neg/output1 /job:localhost/replica:0/task:0/device:GPU:0

//--- device.txt
# gantry placement lock 1
main exp /job:localhost/replica:0/task:0/device:GPU:9

//--- op.txt
# gantry placement lock 1
main exp /job:localhost/replica:0/task:0/device:GPU:1
main gone /job:localhost/replica:0/task:0/device:GPU:1

//--- line.txt
# gantry placement lock 1
GPU:1
