-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 20:30:26.422092
--
-- ior@4.0.0~hdf5~lustre~ncmpi build_system=autotools arch=linux-debian12-x86_64/l7f4hbh
--

whatis([[Name : ior]])
whatis([[Version : 4.0.0]])
whatis([[Target : x86_64]])
whatis([[Short description : The IOR software is used for benchmarking parallel file systems using POSIX, MPI-IO, or HDF5 interfaces.]])
whatis([[Configure options : --without-hdf5 --without-ncmpi --without-lustre]])

help([[Name   : ior]])
help([[Version: 4.0.0]])
help([[Target : x86_64]])
help()
help([[The IOR software is used for benchmarking parallel file systems using
POSIX, MPI-IO, or HDF5 interfaces.]])


depends_on("seatrial/mpich/4.0.2")

prepend_path("PATH", "/opt/apps/opt/linux-x86_64/ior-4.0.0-l7f4hbh6twzbxdmv6upuni7omqeedeme/bin", ":")
prepend_path("MANPATH", "/opt/apps/opt/linux-x86_64/ior-4.0.0-l7f4hbh6twzbxdmv6upuni7omqeedeme/share/man", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/apps/opt/linux-x86_64/ior-4.0.0-l7f4hbh6twzbxdmv6upuni7omqeedeme/.", ":")
setenv("IOR_ROOT", "/opt/apps/opt/linux-x86_64/ior-4.0.0-l7f4hbh6twzbxdmv6upuni7omqeedeme")
append_path("MANPATH", "", ":")

