# cpack makes a Debian package of the installed files, without the training worker: its torch is not a Debian package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ddpprof)
set(CPACK_PACKAGE_CONTACT "ddpprof developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the programs link, by Debian's names
include(CPack)
